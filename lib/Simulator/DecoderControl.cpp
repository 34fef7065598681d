//===- DecoderControl.cpp - Functions, branches, calls --------------------===//
//
// Walks a function's statements, expands calls in place, and patches branch targets. A call binds
// the callee's .param variables to the caller's, so passing parameters costs no instruction.
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"
#include "DriverCalls.h"

#include <algorithm>

namespace tileloom {
namespace sim {

const DecodeTable &decodeTable() {
  static const DecodeTable table = [] {
    DecodeTable t;
    registerInteger(t);
    registerLogic(t);
    registerFloat(t);
    registerCompare(t);
    registerConvert(t);
    registerMove(t);
    registerMemory(t);
    registerAtomic(t);
    registerWarp(t);
    registerBarrier(t);
    registerMbarrier(t);
    registerBulk(t);
    registerTensorMap(t);
    registerMatrix(t);
    registerWgmma(t);
    registerTensor(t);
    registerControl(t);
    registerLaunch(t);
    return t;
  }();
  return table;
}

static uint32_t alignUp(uint32_t v, uint32_t a) { return (v + a - 1) / a * a; }

void Decoder::decode(const Function &entry) {
  scratch = newSlot(16);
  program.name = entry.name;
  program.ast = &ast;
  program.params = entry.params;
  uint32_t offset = 0;
  for (const Variable &v : entry.params) {
    offset = alignUp(offset, v.align);
    program.paramOffsets.push_back(offset);
    offset += uint32_t(v.size);
  }
  program.parameterBytes = offset;
  for (int i = 0; i < 3; ++i) {
    program.requiredThreads[i] = entry.requiredThreads[i];
    program.maxThreads[i] = entry.maxThreads[i];
    program.cluster[i] = entry.cluster[i];
  }
  program.maxRegisters = entry.maxRegisters;
  program.minCtas = entry.minCtas;
  // Shared variables of the module: sized ones first, then the dynamic array(s) behind them.
  uint32_t shared = SharedBase, dynamicAlign = 1;
  for (const Variable &v : ast.variables) {
    if (v.space != Space::Shared)
      continue;
    if (v.isUnsized || v.size == 0) {
      dynamicAlign = std::max(dynamicAlign, v.align);
      continue;
    }
    shared = alignUp(shared, v.align);
    sharedOffsets[v.name] = shared;
    shared += uint32_t(v.size);
  }
  program.staticShared = shared - SharedBase;
  // Function-scope shared variables are placed while functions are expanded; count them first.
  for (const auto &f : ast.functions)
    for (const Variable &v : f->locals)
      if (v.space == Space::Shared) {
        program.staticShared = alignUp(program.staticShared + SharedBase, v.align) - SharedBase;
        sharedOffsets["@" + f->name + "." + v.name] = program.staticShared + SharedBase;
        program.staticShared += uint32_t(v.size);
      }
  uint32_t dynamic = alignUp(SharedBase + program.staticShared, std::max(16u, dynamicAlign));
  program.staticShared = dynamic - SharedBase;
  for (const Variable &v : ast.variables)
    if (v.space == Space::Shared && (v.isUnsized || v.size == 0))
      sharedOffsets[v.name] = dynamic;
  Frame top;
  frame = &top;
  emitFunction(entry, top);
  // Running off the end is a return.
  in = Instr();
  in.flags = FlagExit;
  in.line = entry.line;
  in.refs = uint32_t(program.refs.size());
  program.code.push_back(in);
  program.text.push_back("ret");
  program.sources.emplace_back(0, 0);
  findJoins(program);
}

void Decoder::allocate(const Function &f, Frame &fr) {
  fr.function = &f;
  for (const Register &r : f.registers) {
    fr.slots.push_back(newSlot(r.bytes));
    fr.ids.push_back(program.registerCount++);
    program.registerNames.push_back(r.name);
  }
  for (const Variable &v : f.locals) {
    int64_t offset = 0;
    if (v.space == Space::Local || v.space == Space::Param) {
      program.localBytes = alignUp(program.localBytes, std::max(v.align, 4u));
      offset = program.localBytes;
      program.localBytes += uint32_t(v.size);
    } else if (v.space == Space::Shared) {
      offset = sharedOffsets["@" + f.name + "." + v.name];
    } else {
      auto it = addresses.find(f.name + "." + v.name);
      offset = it == addresses.end() ? 0 : int64_t(it->second);
    }
    fr.localOffsets.push_back(offset);
  }
}

void Decoder::emitFunction(const Function &f, Frame &fr) {
  allocate(f, fr);
  std::vector<std::vector<std::string>> labelsAt(f.body.size() + 1);
  for (auto &[name, index] : f.labels)
    labelsAt[index].push_back(name);
  for (size_t i = 0; i <= f.body.size(); ++i) {
    for (const std::string &name : labelsAt[i])
      fr.labels[name] = uint32_t(program.code.size());
    if (i == f.body.size())
      break;
    st = &f.body[i];
    frame = &fr;
    decodeStatement();
  }
  for (auto &[at, label] : fr.branches) {
    auto it = fr.labels.find(label);
    if (program.code[at].flags & FlagBranch)
      program.code[at].target = it->second;
    else
      program.jumpTables[size_t(program.code[at].imm)].push_back(it->second);
  }
  for (uint32_t at : fr.returns)
    program.code[at].target = uint32_t(program.code.size());
}

void Decoder::decodeStatement() {
  in = Instr();
  in.line = st->line;
  usesNow.clear();
  defsNow.clear();
  narrowNow.clear();
  if (st->guard >= 0) {
    in.guard = frame->slots[size_t(st->guard)];
    in.guardNegated = st->guardNegated;
    usesNow.push_back(frame->ids[size_t(st->guard)]);
  }
  left.assign(st->op.begin() + 1, st->op.end());
  std::string_view op = st->op[0];
  if (op == "bra")
    return decodeBranch();
  if (op == "brx")
    return decodeIndirect();
  if (op == "call")
    return decodeCall();
  if (op == "ret" || op == "exit")
    return decodeReturn(op == "exit");
  auto it = decodeTable().find(op);
  if (it == decodeTable().end())
    fail("unknown instruction '" + std::string(op) + "'");
  it->second(*this);
}

/// Calls are expanded: a chain of functions that call twice each doubles at every step.
constexpr size_t MaxInstructions = 1u << 20;

void Decoder::emitBytes(Handler handler, std::vector<ByteSource> sources, uint16_t flags) {
  program.byteMoves.emplace(uint32_t(program.refs.size()), std::move(sources));
  emit(handler, flags | FlagBytes);
}

void Decoder::emit(Handler handler, uint16_t flags, uint8_t cost) {
  if (program.code.size() >= MaxInstructions)
    fail("the kernel with its calls has more than " + std::to_string(MaxInstructions) +
         " instructions");
  finishModifiers();
  in.run = handler;
  in.flags |= flags;
  in.cost = cost;
  in.refs = uint32_t(program.refs.size());
  for (auto [use, bytes] : narrowNow)
    program.narrowReads[uint32_t(program.refs.size() + use)] = bytes;
  program.refs.insert(program.refs.end(), usesNow.begin(), usesNow.end());
  program.refs.insert(program.refs.end(), defsNow.begin(), defsNow.end());
  in.uses = uint16_t(usesNow.size());
  in.defs = uint16_t(defsNow.size());
  program.code.push_back(in);
  program.text.push_back(st->text());
  program.sources.emplace_back(st->sourceFile, st->sourceLine);
}

void Decoder::branchTo(std::string_view label) {
  std::string key = frame->function->findLabel(label, st->scope);
  if (key.empty())
    fail("label '" + std::string(label) + "' is not defined");
  frame->branches.emplace_back(uint32_t(program.code.size()), key);
}

void Decoder::decodeBranch() {
  take("uni");
  needOperands(1, 1);
  if (operand(0).kind != Operand::Symbol)
    fail("a branch needs a label");
  branchTo(operand(0).name);
  emit(nullptr, FlagBranch);
}

void Decoder::decodeIndirect() {
  if (!take("idx"))
    fail("only brx.idx is supported");
  take("uni");
  needOperands(2, 2);
  in.a = use(operand(0), Ty::U32);
  auto it = frame->function->branchTargets.find(operand(1).name);
  if (it == frame->function->branchTargets.end())
    fail("'" + std::string(operand(1).name) + "' is not a .branchtargets list");
  in.imm = int64_t(program.jumpTables.size());
  program.jumpTables.emplace_back();
  for (const std::string &label : it->second)
    branchTo(label);
  emit(nullptr, FlagIndirect);
}

void Decoder::decodeReturn(bool isExit) {
  take("uni");
  if (frame->depth && !isExit) {
    frame->returns.push_back(uint32_t(program.code.size()));
    emit(nullptr, FlagBranch);
    return;
  }
  emit(nullptr, FlagExit);
}

const Function *Decoder::findFunction(std::string_view name) const {
  const Function *found = nullptr;
  for (const auto &f : ast.functions)
    if (f->name == name && (!found || found->isDeclaration))
      found = f.get();
  return found;
}

void Decoder::decodeCall() {
  take("uni");
  // call (returns), name, (arguments), prototype;  each part may be missing.
  const Operand *returns = nullptr, *target = nullptr, *arguments = nullptr;
  for (const Operand &o : st->operands) {
    if (o.kind == Operand::Vector)
      (target ? arguments : returns) = &o;
    else if (!target)
      target = &o;
  }
  if (!target || target->kind != Operand::Symbol)
    fail("only direct calls are supported");
  const Function *callee = findFunction(target->name);
  if (!callee)
    fail("function '" + std::string(target->name) + "' is not declared");
  Handler driver = callee->isDeclaration ? driverFunction(*callee) : nullptr;
  if (callee->isDeclaration && !driver)
    fail("function '" + callee->name + "' has no body in this module");
  if (frame->depth >= 16)
    fail("calls nest deeper than 16 (recursion cannot be simulated)");
  Frame inner;
  inner.depth = frame->depth + 1;
  Frame *outer = frame;
  const Statement *call = st;
  // A guarded call: threads that do not take it branch around.
  size_t around = ~size_t(0);
  if (st->guard >= 0 && !driver) {
    in.guardNegated = !in.guardNegated;
    around = program.code.size();
    emit(nullptr, FlagBranch);
  }
  std::vector<int32_t> places; // of results and parameters, in order
  auto bind = [&](const std::vector<Variable> &formals, const Operand *actuals) {
    size_t n = actuals ? actuals->parts.size() : 0;
    if (n != formals.size())
      fail("call of '" + callee->name + "' passes " + std::to_string(n) + " values, " +
           std::to_string(formals.size()) + " are declared");
    for (size_t i = 0; i < n; ++i) {
      Space space;
      int64_t value;
      const Operand &o = actuals->parts[i];
      if (formals[i].space != Space::Param || o.kind != Operand::Symbol ||
          !symbolOffset(o, space, value) || space != Space::Local)
        fail("call arguments must be .param variables of the caller");
      inner.paramOffsets[formals[i].name] = value;
      places.push_back(int32_t(value));
    }
  };
  bind(callee->returns, returns);
  bind(callee->params, arguments);
  if (driver) {
    in.list = uint32_t(program.lists.size());
    program.lists.insert(program.lists.end(), places.begin(), places.end());
    emit(driver, 0, 100);
    return;
  }
  emitFunction(*callee, inner);
  frame = outer;
  st = call;
  if (around != ~size_t(0))
    program.code[around].target = uint32_t(program.code.size());
}

} // namespace sim
} // namespace tileloom
