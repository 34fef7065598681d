//===- PtxasReport.cpp - What ptxas said, as data ------------------------------------------===//
//
// ptxas prints, in this order for each function (13.0):
//   ptxas info    : Compiling entry function 'f' for 'sm_90a'
//   ptxas info    : Function properties for f
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 168 registers, used 8 barriers, 1024 bytes smem
// and messages as `ptxas FILE, line N; error   : TEXT`, `ptxas info    : (C7510) TEXT in function
// 'f'`.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Target/PtxasReport.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace tileloom {

StringRef toString(PtxasSeverity severity) {
  switch (severity) {
  case PtxasSeverity::Info:
    return "info";
  case PtxasSeverity::Warning:
    return "warning";
  case PtxasSeverity::Error:
    return "error";
  case PtxasSeverity::Fatal:
    return "fatal";
  }
  return "info";
}

bool PtxasMessage::isPerformanceLoss() const {
  return StringRef(code).starts_with("C75") || StringRef(code).starts_with("C76");
}

const PtxasKernel *PtxasReport::find(StringRef name) const {
  for (const PtxasKernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

bool PtxasReport::hasErrors() const {
  for (const PtxasMessage &message : messages)
    if (message.severity >= PtxasSeverity::Error)
      return true;
  return false;
}

} // namespace tileloom

using namespace tileloom;

/// The text between the first pair of single quotes after `marker`, or empty.
static StringRef quotedAfter(StringRef text, StringRef marker) {
  size_t at = text.find(marker);
  if (at == StringRef::npos)
    return {};
  StringRef rest = text.drop_front(at + marker.size()).split('\'').second;
  return rest.contains('\'') ? rest.split('\'').first : StringRef();
}

/// The function of a message: "... in the function 'k'" (most), "... in function k. Try ..."
/// (C7602).
static StringRef functionNamedIn(StringRef text) {
  if (StringRef quoted = quotedAfter(text, "function"); !quoted.empty())
    return quoted;
  size_t at = text.find("in function ");
  if (at == StringRef::npos)
    return {};
  auto isName = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$'; };
  return text.drop_front(at + StringRef("in function ").size()).take_while(isName);
}

/// "Used 168 registers, used 8 barriers, 1024 bytes smem" or "0 bytes stack frame, 0 bytes spill
/// stores, ...": each part is a number and what it counts. True if every part was understood.
static bool parseCounts(StringRef text, PtxasKernel &kernel) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  bool all = true;
  for (StringRef part : parts) {
    part = part.trim();
    if (!part.consume_front("Used "))
      part.consume_front("used ");
    unsigned value = 0;
    if (part.consumeInteger(10, value)) {
      all = false;
      continue;
    }
    part = part.trim();
    if (part == "registers")
      kernel.registers = value;
    else if (part == "barriers")
      kernel.barriers = value;
    else if (part == "bytes stack frame")
      kernel.stackBytes = value;
    else if (part == "bytes spill stores")
      kernel.spillStoreBytes = value;
    else if (part == "bytes spill loads")
      kernel.spillLoadBytes = value;
    else if (part == "bytes smem")
      kernel.sharedBytes = value;
    else if (part.starts_with("bytes cmem"))
      kernel.constantBytes += value;
    else if (part != "bytes cumulative stack size" && part != "bytes lmem" && part != "textures" &&
             part != "surfaces" && part != "samplers")
      all = false;
  }
  return all;
}

/// Splits "ptxas FILE, line N; error   : TEXT" or "ptxas info    : TEXT". False if the line is
/// neither.
static bool parseHead(StringRef line, PtxasMessage &message, StringRef &text) {
  if (!line.consume_front("ptxas "))
    return false;
  // The severity is the last word before " : ". A file name may hold colons, so look for each
  // severity in turn.
  static constexpr std::pair<StringRef, PtxasSeverity> severities[] = {
      {"info", PtxasSeverity::Info},
      {"warning", PtxasSeverity::Warning},
      {"error", PtxasSeverity::Error},
      {"fatal", PtxasSeverity::Fatal},
  };
  for (auto [word, severity] : severities) {
    StringRef rest = line, place;
    if (!rest.starts_with(word)) {
      size_t at = rest.find(("; " + word).str());
      if (at == StringRef::npos)
        continue;
      place = rest.take_front(at);
      rest = rest.drop_front(at + 2);
    }
    rest = rest.drop_front(word.size()).ltrim();
    if (!rest.consume_front(":"))
      continue;
    size_t lineAt = place.rfind(", line ");
    if (lineAt != StringRef::npos)
      (void)place.drop_front(lineAt + 7).getAsInteger(10, message.ptxLine);
    message.severity = severity;
    text = rest.trim();
    return true;
  }
  return false;
}

/// "(C7510) Potential ..." and "... in around line 268 by ... in function 'gemm'".
static void parseMessageText(StringRef text, PtxasMessage &message) {
  StringRef rest = text;
  if (rest.consume_front("(C") && llvm::isDigit(rest.empty() ? ' ' : rest.front())) {
    auto [number, tail] = rest.split(')');
    unsigned value = 0;
    if (!number.getAsInteger(10, value)) {
      message.code = ("C" + number).str();
      text = tail.trim();
    }
  }
  if (message.ptxLine == 0) {
    size_t at = text.find(" line ");
    if (at != StringRef::npos) {
      StringRef number = text.drop_front(at + 6);
      (void)number.consumeInteger(10, message.ptxLine);
    }
  }
  message.function = functionNamedIn(text).str();
  message.text = text.str();
}

PtxasReport tileloom::parsePtxasOutput(StringRef text) {
  PtxasReport report;
  PtxasKernel stray; // counts that belong to no function
  auto current = [&]() -> PtxasKernel & {
    return report.kernels.empty() ? stray : report.kernels.back();
  };

  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    line = line.rtrim();
    if (line.empty())
      continue;
    PtxasMessage message;
    StringRef body;
    if (!parseHead(line, message, body)) {
      // The only lines without a head are the properties of the function named just before.
      if (!line.contains("stack frame") || !parseCounts(line, current()))
        report.unknown.push_back(line.str());
      continue;
    }
    if (message.severity == PtxasSeverity::Info && message.ptxLine == 0 && !body.starts_with("(")) {
      if (body.starts_with("Compiling entry function") ||
          body.starts_with("Function properties for ")) {
        StringRef name = body.consume_front("Function properties for ")
                             ? body.trim().trim('\'')
                             : quotedAfter(body, "function");
        if (report.kernels.empty() || report.kernels.back().name != name) {
          report.kernels.emplace_back();
          report.kernels.back().name = name.str();
        }
        continue;
      }
      if (body.starts_with("Used ")) {
        if (!parseCounts(body, current()))
          report.unknown.push_back(line.str());
        continue;
      }
      if (body.consume_front("Compile time = ")) {
        double ms = 0;
        if (!body.split(' ').first.getAsDouble(ms))
          report.compileMs += ms;
        continue;
      }
      if (body.contains(" bytes gmem"))
        continue;
    }
    parseMessageText(body, message);
    report.messages.push_back(std::move(message));
  }
  return report;
}

//===--------------------------------------------------------------------------------------===//
// Source lines
//===--------------------------------------------------------------------------------------===//

/// `.file 1 "/dir/gemm.py"` and `.loc 1 12 3`. A .loc holds until the next one of the function.
void tileloom::attachSourceLines(PtxasReport &report, StringRef ptx) {
  std::vector<std::string> files;
  struct Place {
    unsigned ptxLine, file, line, column;
  };
  std::vector<Place> places;
  unsigned number = 0;
  for (StringRef rest = ptx; !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    ++number;
    line = line.trim();
    unsigned file = 0;
    if (line.consume_front(".file")) {
      line = line.ltrim();
      if (line.consumeInteger(10, file) || file > 4096)
        continue;
      if (files.size() <= file)
        files.resize(file + 1);
      files[file] = line.split('"').second.split('"').first.str();
    } else if (line.consume_front(".loc")) {
      Place place{number, 0, 0, 0};
      line = line.ltrim();
      if (line.consumeInteger(10, place.file) ||
          (line = line.ltrim()).consumeInteger(10, place.line))
        continue;
      line = line.ltrim();
      (void)line.consumeInteger(10, place.column);
      places.push_back(place);
    } else if (line.starts_with(".entry") || line.contains(" .entry ") ||
               line.starts_with(".func")) {
      places.push_back({number, 0, 0, 0}); // no source line before the first .loc of a function
    }
  }
  for (PtxasMessage &message : report.messages) {
    if (message.ptxLine == 0)
      continue;
    const Place *last = nullptr;
    for (const Place &place : places)
      if (place.ptxLine <= message.ptxLine)
        last = &place;
    if (last && last->line != 0 && last->file < files.size())
      message.source = {files[last->file], last->line, last->column};
  }
}
