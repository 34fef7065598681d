//===- ConvertPTX.cpp - ptx operations to inline assembly ---------------------------------===//
//
// One call for each instruction. Accumulators are tied (the output constraint's number as the input
// constraint), so that LLVM and ptxas keep them in place.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "dialects/PTX/PTX.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace tileloom::emit {
#define GEN_PASS_DEF_CONVERTPTX
#include "passes/Emit/Passes.h.inc"
} // namespace tileloom::emit

using namespace mlir;
using namespace tileloom;

namespace {

/// Collects the text, operands and constraints of one assembly call.
class Assembly {
public:
  Assembly(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  static StringRef constraint(Type type) {
    if (type.isF32())
      return "f";
    if (type.isInteger(1))
      return "b";
    unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 32;
    return bits == 64 ? "l" : bits == 16 ? "h" : "r";
  }
  /// "{$0, $1, ...}" for values [first, first + count).
  static std::string list(size_t first, size_t count) {
    std::string text = "{";
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(first + i);
    return text + "}";
  }
  void output(Type type) {
    results.push_back(type);
    constraints += (constraints.empty() ? "=" : ",=") + constraint(type).str();
  }
  void tie(Value value, size_t to) {
    operands.push_back(value);
    constraints += "," + std::to_string(to);
  }
  void input(Value value) {
    operands.push_back(value);
    constraints += (constraints.empty() ? "" : ",") + constraint(value.getType()).str();
  }
  size_t next() const { return results.size() + operands.size(); }

  SmallVector<Value> emit(StringRef text) {
    Type type = results.empty() ? Type(LLVM::LLVMVoidType::get(builder.getContext()))
                : results.size() == 1
                    ? results[0]
                    : Type(LLVM::LLVMStructType::getLiteral(builder.getContext(), results));
    auto call = LLVM::InlineAsmOp::create(
        builder, loc, results.empty() ? TypeRange() : TypeRange(type), operands, text, constraints,
        /*has_side_effects=*/true,
        /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
    SmallVector<Value> values;
    if (results.size() == 1)
      values.push_back(call.getResult(0));
    else
      for (size_t i = 0; i < results.size(); ++i)
        values.push_back(LLVM::ExtractValueOp::create(builder, loc, call.getResult(0), i));
    return values;
  }

private:
  OpBuilder &builder;
  Location loc;
  SmallVector<Type> results;
  SmallVector<Value> operands;
  std::string constraints;
};

void lower(ptx::WgmmaOp op) {
  OpBuilder builder(op);
  Assembly assembly(builder, op.getLoc());
  size_t registers = op.getNumResults();
  for (Type type : op.getResultTypes())
    assembly.output(type);
  for (auto [i, value] : llvm::enumerate(op.getAcc()))
    assembly.tie(value, i);
  size_t a = assembly.next();
  for (Value value : op.getA())
    assembly.input(value);
  size_t b = assembly.next();
  assembly.input(op.getB());
  std::string scale = op.getAcc().empty() ? "0" : "1";
  if (op.getScaleD()) {
    scale = "$" + std::to_string(assembly.next());
    assembly.input(op.getScaleD());
  }
  bool inRegisters = op.getA().size() == 4;
  std::string d = op.getDType().isF16() ? "f16" : op.getDType().isInteger(32) ? "s32" : "f32";
  std::string text =
      "wgmma.mma_async.sync.aligned.m64n" + std::to_string(op.getN()) + "k" +
      std::to_string(op.getK()) + "." + d + "." + ptx::stringifyMatrixType(op.getAType()).str() +
      "." + ptx::stringifyMatrixType(op.getBType()).str() +
      (op.getSatfinite() ? ".satfinite " : " ") + Assembly::list(0, registers) +
      ", " + (inRegisters ? Assembly::list(a, 4) : "$" + std::to_string(a)) + ", $" +
      std::to_string(b) + ", " + scale;
  bool isInteger = d == "s32";
  if (!isInteger)
    text += ", 1, 1";
  // Only 16-bit operands have a major order to choose (PTX ISA 9.7.15.5.2).
  if (op.getK() == 16 && !isInteger) {
    if (!inRegisters)
      text += op.getTransA() ? ", 1" : ", 0";
    text += op.getTransB() ? ", 1" : ", 0";
  }
  op.replaceAllUsesWith(assembly.emit(text + ";"));
  op.erase();
}

void lower(ptx::WgmmaWaitOp op) {
  OpBuilder builder(op);
  if (op.getAfter()) {
    // A NaN payload that no arithmetic makes: the store never happens, but ptxas cannot know.
    Assembly pin(builder, op.getLoc());
    pin.input(op.getScratch());
    pin.input(op.getAfter());
    pin.emit("{ .reg .pred p; .reg .b32 t; mov.b32 t, $1; setp.eq.u32 p, t, 0x7fedcba9; @p "
             "st.shared.b32 [$0], t; }");
  }
  Assembly assembly(builder, op.getLoc());
  for (Type type : op.getResultTypes())
    assembly.output(type);
  for (auto [i, value] : llvm::enumerate(op.getInputs()))
    assembly.tie(value, i);
  op.replaceAllUsesWith(
      assembly.emit("wgmma.wait_group.sync.aligned " + std::to_string(op.getPending()) + ";"));
  op.erase();
}

void lower(ptx::TmemLoadOp op) {
  OpBuilder builder(op);
  Assembly assembly(builder, op.getLoc());
  for (Type type : op.getResultTypes())
    assembly.output(type);
  size_t address = assembly.next();
  assembly.input(op.getAddress());
  op.replaceAllUsesWith(assembly.emit(
      "tcgen05.ld.sync.aligned." + op.getShape().str() + ".x" + std::to_string(op.getCount()) +
      ".b32 " + Assembly::list(0, op.getNumResults()) + ", [$" + std::to_string(address) + "];"));
  op.erase();
}

void lower(ptx::TmemWaitLoadOp op) {
  OpBuilder builder(op);
  Assembly assembly(builder, op.getLoc());
  for (Type type : op.getResultTypes())
    assembly.output(type);
  for (auto [i, value] : llvm::enumerate(op.getInputs()))
    assembly.tie(value, i);
  op.replaceAllUsesWith(assembly.emit("tcgen05.wait::ld.sync.aligned;"));
  op.erase();
}

struct ConvertPTXPass : tileloom::emit::impl::ConvertPTXBase<ConvertPTXPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto wgmma = dyn_cast<ptx::WgmmaOp>(op))
        lower(wgmma);
      else if (auto wait = dyn_cast<ptx::WgmmaWaitOp>(op))
        lower(wait);
      else if (auto load = dyn_cast<ptx::TmemLoadOp>(op))
        lower(load);
      else if (auto tmem = dyn_cast<ptx::TmemWaitLoadOp>(op))
        lower(tmem);
    });
  }
};

} // namespace
