//===- DebugPatterns.cpp - Prints and checks ----------------------------------------------===//
//
// user.print calls vprintf once for each element, in one of the threads that hold it, with the values in
// the thread's local memory, each aligned to its size. user.assert calls __assertfail. The driver has both
// (CUDA programming guide, "Formatted output" and "Assertion"). Texts are constants of the module.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/UserPatterns.h"

#include "dialects/NV/NV.h"
#include "dialects/User/User.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::emit;

namespace {

/// The module's declaration of a function of the driver.
LLVM::LLVMFuncOp declared(ConversionPatternRewriter &rewriter, Operation *op, StringRef name, Type result,
                          ArrayRef<Type> arguments) {
  auto module = op->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(module.getBody());
  return LLVM::LLVMFuncOp::create(rewriter, op->getLoc(), name, LLVM::LLVMFunctionType::get(result, arguments));
}

/// The generic address of a text that ends with zero.
Value addressOf(ConversionPatternRewriter &rewriter, Operation *op, StringRef text) {
  auto module = op->getParentOfType<ModuleOp>();
  std::string bytes(text);
  bytes.push_back(0);
  LLVM::GlobalOp global;
  unsigned number = 0;
  for (auto known : module.getOps<LLVM::GlobalOp>()) {
    auto value = dyn_cast_or_null<StringAttr>(known.getValueOrNull());
    number += value != nullptr;
    if (value && value.getValue() == bytes)
      global = known;
  }
  constexpr unsigned globalSpace = 1;
  if (!global) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(rewriter.getI8Type(), bytes.size());
    global = LLVM::GlobalOp::create(rewriter, op->getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                    "text_" + std::to_string(number), rewriter.getStringAttr(bytes), /*alignment=*/1,
                                    globalSpace);
  }
  Value address = LLVM::AddressOfOp::create(rewriter, op->getLoc(), global);
  auto generic = LLVM::LLVMPointerType::get(op->getContext());
  return LLVM::AddrSpaceCastOp::create(rewriter, op->getLoc(), generic, address);
}

/// What C passes for a value behind `...`.
Value promoted(OpBuilder &builder, Location loc, Value value) {
  Type f64 = builder.getF64Type();
  bool narrow = isa<FloatType>(value.getType()) && value.getType() != f64;
  return narrow ? arith::ExtFOp::create(builder, loc, f64, value).getResult() : value;
}

struct PrintPattern : OpPattern<user::PrintOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(user::PrintOp op, OneToN adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const layout::RegisterLayout *layout = nullptr;
    SmallVector<SmallVector<Value>> values; // of each operand: the thread's elements, or the scalar
    for (auto [value, converted] : llvm::zip(op.getValues(), adaptor.getValues())) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      values.push_back(type ? unpack(rewriter, loc, type, converted) : SmallVector<Value>(converted));
      if (type && !layout && !(layout = converter.layoutOf(type, loc)))
        return failure();
    }
    auto pointer = LLVM::LLVMPointerType::get(op->getContext());
    LLVM::LLVMFuncOp printer = declared(rewriter, op, "vprintf", rewriter.getI32Type(), {pointer, pointer});
    Value buffer = bufferFor(rewriter, op), format = addressOf(rewriter, op, op.getFormat());
    Value callee = LLVM::AddressOfOp::create(rewriter, loc, printer); // roles are symbols, and hide the module's from a call by name
    auto print = [&](OpBuilder &builder, unsigned reg) {
      int64_t offset = 0;
      for (auto [operand, elements] : llvm::zip(op.getValues(), values)) {
        bool tile = isa<RankedTensorType>(operand.getType());
        Value value = promoted(builder, loc, elements[tile ? reg : 0]);
        int64_t bytes = value.getType().getIntOrFloatBitWidth() / 8;
        offset = llvm::alignTo(offset, bytes);
        Value place = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), buffer, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
        LLVM::StoreOp::create(builder, loc, value, place);
        offset += bytes;
      }
      LLVM::CallOp::create(builder, loc, printer.getFunctionType(), ValueRange{callee, format, buffer});
    };
    if (!layout) {
      createIssued(rewriter, op, nv::Issuer::Role, [&](OpBuilder &builder) { print(builder, 0); });
      rewriter.eraseOp(op);
      return success();
    }
    ThreadPosition position(rewriter, op);
    auto printAll = [&](OpBuilder &builder) {
      for (unsigned reg = 0; reg < layout->registersPerThread(); ++reg)
        if (layout->isPrimary(reg, 0, 0))
          print(builder, reg);
    };
    if (Value primary = withoutCopies(rewriter, loc, layout->replicatedLanes(), layout->replicatedWarps(), position)) {
      auto branch = scf::IfOp::create(rewriter, loc, primary, /*withElseRegion=*/false);
      OpBuilder inner = branch.getThenBodyBuilder();
      printAll(inner);
    } else {
      printAll(rewriter);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Local memory for the values of a line. At the kernel's entry: elsewhere it would be a stack that grows.
  static Value bufferFor(ConversionPatternRewriter &rewriter, user::PrintOp op) {
    OpBuilder::InsertionGuard guard(rewriter);
    auto kernel = op->getParentOfType<func::FuncOp>();
    rewriter.setInsertionPointToStart(&kernel.getBody().front());
    Value count = arith::ConstantIntOp::create(rewriter, op.getLoc(), std::max<int64_t>(1, op.getValues().size()), 32);
    return LLVM::AllocaOp::create(rewriter, op.getLoc(), LLVM::LLVMPointerType::get(op->getContext()), rewriter.getI64Type(), count, 8);
  }
};

struct AssertPattern : OpPattern<user::AssertOp> {
  using OpPattern::OpPattern;

  LogicalResult matchAndRewrite(user::AssertOp op, OneToN adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> conditions(adaptor.getCondition());
    if (auto type = dyn_cast<RankedTensorType>(op.getCondition().getType()))
      conditions = unpack(rewriter, loc, type, adaptor.getCondition());
    Value all = conditions.front();
    for (Value condition : ArrayRef(conditions).drop_front())
      all = arith::AndIOp::create(rewriter, loc, all, condition);
    auto pointer = LLVM::LLVMPointerType::get(op->getContext());
    Type i32 = rewriter.getI32Type(), i64 = rewriter.getI64Type();
    LLVM::LLVMFuncOp fail = declared(rewriter, op, "__assertfail", LLVM::LLVMVoidType::get(op->getContext()), {pointer, pointer, i32, pointer, i64});
    Value texts[] = {addressOf(rewriter, op, op.getMessage()), addressOf(rewriter, op, op.getFile()), addressOf(rewriter, op, op.getFunction())};
    Value wrong = arith::XOrIOp::create(rewriter, loc, all, arith::ConstantIntOp::create(rewriter, loc, 1, 1));
    auto branch = scf::IfOp::create(rewriter, loc, wrong, /*withElseRegion=*/false);
    OpBuilder inner = branch.getThenBodyBuilder();
    Value line = arith::ConstantIntOp::create(inner, loc, op.getLine(), 32), charSize = arith::ConstantIntOp::create(inner, loc, 1, 64);
    Value callee = LLVM::AddressOfOp::create(inner, loc, fail);
    LLVM::CallOp::create(inner, loc, fail.getFunctionType(), ValueRange{callee, texts[0], texts[1], line, texts[2], charSize});
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void tileloom::emit::populateDebugPatterns(TileTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<PrintPattern, AssertPattern>(converter, patterns.getContext());
}
