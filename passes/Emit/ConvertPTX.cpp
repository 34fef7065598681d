//===- ConvertPTX.cpp - ptx operations to inline assembly ---------------------------------===//
//
// One call for each instruction; but one for all products between a fence and a commit, with both, if
// nothing but computation stands between them. Accumulators are tied (the output constraint's number as the
// input constraint), so that LLVM and ptxas keep them in place. Copies that LLVM makes for a tied value are
// before the call, and so before the fence: between fence and product they would be accesses to registers
// of a product. And the 128 accumulators of a tile appear once instead of once for each 16 of K: half of
// the time that an attention kernel spends in LLVM.
//
// Carried numbers that a loop with a pinned wait chooses the next of (a running maximum) are copied at its
// head. LLVM copies them there or at the loop's end, as it happens; with copies at the end ptxas lays
// maxima of other rows before the first exponentials, 2 % of attention (docs/notes/role-stage.md).
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "dialects/PTX/PTX.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

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
  /// `early`: written while inputs are still to be read.
  void output(Type type, bool early = false) {
    results.push_back(type);
    constraints += (constraints.empty() ? "=" : ",=") + std::string(early ? "&" : "") + constraint(type).str();
  }
  void tie(Value value, size_t to) {
    operands.push_back(value);
    constraints += "," + std::to_string(to);
  }
  void input(Value value) {
    operands.push_back(value);
    constraints += (constraints.empty() ? "" : ",") + constraint(value.getType()).str();
  }
  /// The operand of a value, one for all its uses.
  std::string shared(Value value) {
    auto [found, fresh] = known.try_emplace(value, next());
    if (fresh)
      input(value);
    return "$" + std::to_string(found->second);
  }
  /// Loads and stores of LLVM stay on their side.
  void clobberMemory() { constraints += std::string(constraints.empty() ? "" : ",") + "~{memory}"; }
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
  llvm::DenseMap<Value, size_t> known;
  std::string constraints;
};

/// A fence, the products behind it in their order, and the commit; or one product alone.
class Products {
public:
  /// Takes an operation up, or says that it is none of this group.
  bool add(Operation *op) {
    if (isa<NVVM::WgmmaFenceAlignedOp>(op)) {
      if (!ops.empty())
        return false;
    } else if (auto wgmma = dyn_cast<ptx::WgmmaOp>(op)) {
      bool open = ops.empty() || isa<NVVM::WgmmaFenceAlignedOp>(ops.front());
      if (!open || closed || !continues(wgmma))
        return false;
      products.push_back(wgmma);
    } else if (isa<NVVM::WgmmaGroupSyncAlignedOp>(op)) {
      if (closed || products.empty())
        return false;
      closed = true;
    } else {
      return !ops.empty() && isMemoryEffectFree(op) && op->getNumRegions() == 0 && llvm::none_of(op->getOperands(), [&](Value value) { return isResult(value); });
    }
    ops.push_back(op);
    return true;
  }

  void lower() {
    if (products.empty())
      return;
    OpBuilder builder(ops.back());
    Assembly assembly(builder, products.front().getLoc());
    bool several = products.size() > 1;
    llvm::DenseMap<Operation *, size_t> sums; // the first output of a product
    SmallVector<ptx::WgmmaOp> firsts, lasts;
    for (ptx::WgmmaOp op : products) {
      if (ptx::WgmmaOp before = chained(op)) {
        sums[op] = sums[before];
        *llvm::find(lasts, before) = op;
        continue;
      }
      sums[op] = assembly.next();
      firsts.push_back(op);
      lasts.push_back(op);
      for (Type type : op.getResultTypes())
        assembly.output(type, several);
    }
    for (ptx::WgmmaOp op : firsts)
      for (auto [i, value] : llvm::enumerate(op.getAcc()))
        assembly.tie(value, sums[op] + i);
    std::string text;
    for (Operation *op : ops) {
      text += text.empty() ? "" : "\n\t";
      if (auto wgmma = dyn_cast<ptx::WgmmaOp>(op))
        text += instruction(wgmma, sums[wgmma], assembly);
      else
        text += isa<NVVM::WgmmaFenceAlignedOp>(op) ? "wgmma.fence.sync.aligned;" : "wgmma.commit_group.sync.aligned;";
    }
    if (ops.size() > products.size())
      assembly.clobberMemory();
    SmallVector<Value> values = assembly.emit(text);
    for (ptx::WgmmaOp op : lasts)
      op.replaceAllUsesWith(ArrayRef(values).slice(sums[op], op.getNumResults()));
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

private:
  bool isResult(Value value) const { return value.getDefiningOp<ptx::WgmmaOp>() && llvm::is_contained(products, value.getDefiningOp()); }

  /// The product of this group whose sums `op` goes on with.
  ptx::WgmmaOp chained(ptx::WgmmaOp op) const {
    return !op.getAcc().empty() && isResult(op.getAcc().front()) ? op.getAcc().front().getDefiningOp<ptx::WgmmaOp>() : ptx::WgmmaOp();
  }

  /// Whether `op` uses what the group computes not at all, or as its sums only, which nobody else needs.
  bool continues(ptx::WgmmaOp op) const {
    if (llvm::any_of(op.getA(), [&](Value value) { return isResult(value); }))
      return false;
    ptx::WgmmaOp before = chained(op);
    if (!before)
      return llvm::none_of(op.getAcc(), [&](Value value) { return isResult(value); });
    return before.getResults() == op.getAcc() && llvm::all_of(op.getAcc(), [](Value value) { return value.hasOneUse(); });
  }

  /// A descriptor as an operand. What is added to that of the tile is added here, right before the product:
  /// ahead of all products, or of their loop, ptxas keeps the sums in registers that each of them has to be
  /// fetched from.
  static std::string descriptor(Value value, StringRef name, std::string &before, Assembly &assembly) {
    APInt constant;
    Operation *sum = value.getDefiningOp();
    if (!isa_and_nonnull<arith::AddIOp, LLVM::AddOp>(sum) || !matchPattern(sum->getOperand(1), m_ConstantInt(&constant)))
      return assembly.shared(value);
    before += " .reg .b64 " + name.str() + "; add.s64 " + name.str() + ", " + assembly.shared(sum->getOperand(0)) + ", " +
              std::to_string(constant.getSExtValue()) + ";";
    return name.str();
  }

  static std::string instruction(ptx::WgmmaOp op, size_t sum, Assembly &assembly) {
    bool inRegisters = op.getA().size() == 4;
    std::string before, a;
    if (inRegisters) {
      a = Assembly::list(assembly.next(), 4);
      for (Value value : op.getA())
        assembly.input(value);
    } else {
      a = descriptor(op.getA().front(), "a", before, assembly);
    }
    std::string b = descriptor(op.getB(), "b", before, assembly);
    std::string scale = op.getAcc().empty() ? "0" : "1";
    if (op.getScaleD()) {
      scale = "$" + std::to_string(assembly.next());
      assembly.input(op.getScaleD());
    }
    std::string d = op.getDType().isF16() ? "f16" : op.getDType().isInteger(32) ? "s32" : "f32";
    std::string text =
        "wgmma.mma_async.sync.aligned.m64n" + std::to_string(op.getN()) + "k" +
        std::to_string(op.getK()) + "." + d + "." + ptx::stringifyMatrixType(op.getAType()).str() +
        "." + ptx::stringifyMatrixType(op.getBType()).str() +
        (op.getSatfinite() ? ".satfinite " : " ") + Assembly::list(sum, op.getNumResults()) +
        ", " + a + ", " + b + ", " + scale;
    bool isInteger = d == "s32";
    if (!isInteger)
      text += ", 1, 1";
    // Only 16-bit operands have a major order to choose (PTX ISA 9.7.15.5.2).
    if (op.getK() == 16 && !isInteger) {
      if (!inRegisters)
        text += op.getTransA() ? ", 1" : ", 0";
      text += op.getTransB() ? ", 1" : ", 0";
    }
    return before.empty() ? text + ";" : "{" + before + " " + text + "; }";
  }

  SmallVector<Operation *> ops;
  SmallVector<ptx::WgmmaOp> products;
  bool closed = false; // by a commit
};

/// All products of a block.
void lowerProducts(Block &block) {
  SmallVector<Products> groups(1);
  for (Operation &op : block)
    if (!groups.back().add(&op)) {
      groups.emplace_back();
      groups.back().add(&op);
    }
  for (Products &group : groups)
    group.lower();
}

void copyChosen(scf::ForOp loop) {
  auto waits = loop.getBody()->getOps<ptx::WgmmaWaitOp>();
  if (llvm::none_of(waits, [](ptx::WgmmaWaitOp wait) { return bool(wait.getAfter()); }))
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  for (auto [argument, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *choice = next.getDefiningOp();
    if (!argument.getType().isF32() || !isa_and_nonnull<arith::SelectOp, arith::MaxNumFOp, arith::MinNumFOp>(choice) ||
        !llvm::is_contained(choice->getOperands(), argument))
      continue;
    Assembly copy(builder, loop.getLoc());
    copy.output(argument.getType());
    copy.input(argument);
    Value copied = copy.emit("mov.b32 $0, $1;").front();
    argument.replaceAllUsesExcept(copied, copied.getDefiningOp());
  }
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
    getOperation()->walk([](scf::ForOp loop) { copyChosen(loop); });
    getOperation()->walk([](Block *block) { lowerProducts(*block); });
    getOperation()->walk([](Operation *op) {
      if (auto wait = dyn_cast<ptx::WgmmaWaitOp>(op))
        lower(wait);
      else if (auto load = dyn_cast<ptx::TmemLoadOp>(op))
        lower(load);
      else if (auto tmem = dyn_cast<ptx::TmemWaitLoadOp>(op))
        lower(tmem);
    });
  }
};

} // namespace
