//===- ExpandMath.cpp - Functions of fp32 scalars -----------------------------------------===//
//
// In: math operations and divisions on scalars. Out: the hardware's approximations (PTX ISA 9.7.3:
// ex2 2 ulp, lg2, rcp 1 ulp, rsqrt; sin and cos to 2^-20.5 in absolute terms between -pi and pi),
// subnormals flushed, and polynomials for what the hardware lacks (tanh is the hardware's only with `afn`,
// and without it a square root is rounded correctly).
//
// `afn` quotients are within 2 ulp for all operands, as div.full (PTX ISA 9.7.3). Those that share
// a denominator take its reciprocal once and two multiplications each; div.full takes three.
//
// Each function is written in terms of the simpler ones; rounds are repeated until none is left.
//
//===--------------------------------------------------------------------------------------===//

#include "passes/Emit/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

namespace tileloom::emit {
#define GEN_PASS_DEF_EXPANDMATH
#include "passes/Emit/Passes.h.inc"
} // namespace tileloom::emit

using namespace mlir;

namespace {

struct Float {
  OpBuilder &builder;
  Location loc;
  Value constant(float value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  }
  Value mul(Value a, Value b) { return arith::MulFOp::create(builder, loc, a, b); }
  Value mul(Value a, float b) { return mul(a, constant(b)); }
  Value fma(Value a, float b, Value c) {
    return math::FmaOp::create(builder, loc, a, constant(b), c);
  }
  Value call(StringRef name, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(),
                                         builder.getStringAttr(name), operands)
        .getResult(0);
  }
  /// An instruction of one operand that LLVM has no intrinsic for.
  Value instruction(StringRef name, Value operand) {
    return LLVM::InlineAsmOp::create(
               builder, loc, builder.getF32Type(), operand, (name + " $0, $1;").str(), "=f,f",
               /*has_side_effects=*/false, /*is_align_stack=*/false, LLVM::TailCallKind::None,
               LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
               ArrayAttr())
        .getResult(0);
  }
  /// x less the nearest multiple of 2 pi, which is taken off in three parts (Cody and Waite): the
  /// first has few bits, so that the product is exact.
  Value reduceToPi(Value x) {
    Value turns = math::RoundEvenOp::create(builder, loc, mul(x, 0.15915494309f));
    Value rest = fma(turns, -6.28125f, x);
    rest = fma(turns, -1.93500518798828125e-3f, rest);
    return fma(turns, -3.01991598195675e-7f, rest);
  }
};

/// The machine's: within 2^-11 of the value (PTX ISA 9.7.3), where the polynomial is within some ulp.
bool isApproximateTanh(Operation *op) {
  auto tanh = dyn_cast<math::TanhOp>(op);
  return tanh && bitEnumContainsAll(tanh.getFastmath(), arith::FastMathFlags::afn);
}

/// The function as simpler ones; null for what is left alone.
Value expand(Operation *op, OpBuilder &builder) {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isF32())
    return {};
  Float math{builder, op->getLoc()};
  ValueRange in = op->getOperands();
  if (isa<math::Exp2Op>(op))
    return math.call("llvm.nvvm.ex2.approx.ftz.f", in);
  if (isa<math::ExpOp>(op))
    return math.call("llvm.nvvm.ex2.approx.ftz.f", math.mul(in[0], 1.44269504089f));
  if (isa<math::Log2Op>(op))
    return math.call("llvm.nvvm.lg2.approx.ftz.f", in);
  if (isa<math::LogOp>(op))
    return math.mul(math.call("llvm.nvvm.lg2.approx.ftz.f", in), 0.69314718056f);
  if (isa<math::Log10Op>(op))
    return math.mul(math.call("llvm.nvvm.lg2.approx.ftz.f", in), 0.30102999566f);
  if (isa<math::RsqrtOp>(op))
    return math.call("llvm.nvvm.rsqrt.approx.ftz.f", in);
  if (auto root = dyn_cast<math::SqrtOp>(op)) {
    bool approximate = bitEnumContainsAll(root.getFastmath(), arith::FastMathFlags::afn);
    return math.call(approximate ? "llvm.nvvm.sqrt.approx.ftz.f" : "llvm.nvvm.sqrt.rn.f", in);
  }
  if (isa<math::SinOp>(op))
    return math.instruction("sin.approx.ftz.f32", math.reduceToPi(in[0]));
  if (isa<math::CosOp>(op))
    return math.instruction("cos.approx.ftz.f32", math.reduceToPi(in[0]));
  if (isApproximateTanh(op))
    return math.instruction("tanh.approx.f32", in[0]);
  if (auto divide = dyn_cast<arith::DivFOp>(op)) {
    auto has = [&](arith::FastMathFlags flag) {
      return (divide.getFastmath() & flag) != arith::FastMathFlags::none;
    };
    if (has(arith::FastMathFlags::arcp))
      return math.mul(in[0], math.call("llvm.nvvm.rcp.approx.ftz.f", in[1]));
    if (has(arith::FastMathFlags::afn))
      return math.call("llvm.nvvm.div.full", in);
  }
  return {};
}

/// Divides by one denominator. Where its reciprocal would be subnormal or infinite it is scaled by a
/// power of two first, and the products with the reciprocal afterwards: these neither overflow nor
/// lose bits unless the quotients do.
void divideAll(MutableArrayRef<arith::DivFOp> quotients) {
  OpBuilder builder(quotients.front());
  Location loc = quotients.front().getLoc();
  Float math{builder, loc};
  Value denominator = quotients.front().getRhs();
  Value size = math::AbsFOp::create(builder, loc, denominator);
  auto is = [&](arith::CmpFPredicate predicate, float bound) {
    return arith::CmpFOp::create(builder, loc, predicate, size, math.constant(bound));
  };
  Value large = is(arith::CmpFPredicate::OGT, 0x1p126f),
        small = is(arith::CmpFPredicate::OLT, 0x1p-126f);
  Value scale = arith::SelectOp::create(builder, loc, large, math.constant(0.25f),
                                        math.constant(1.0f));
  scale = arith::SelectOp::create(builder, loc, small, math.constant(0x1p24f), scale);
  Value inverse = math.call("llvm.nvvm.rcp.approx.ftz.f", math.mul(denominator, scale));
  for (arith::DivFOp quotient : quotients) {
    builder.setInsertionPoint(quotient);
    quotient.replaceAllUsesWith(math.mul(math.mul(quotient.getLhs(), inverse), scale));
    quotient.erase();
  }
}

/// Divisions of one block by the same value that need not be rounded correctly.
void shareReciprocals(Operation *root) {
  llvm::MapVector<std::pair<Block *, Value>, SmallVector<arith::DivFOp>> groups;
  root->walk([&](arith::DivFOp divide) {
    auto flags = divide.getFastmath();
    if (divide.getType().isF32() && bitEnumContainsAll(flags, arith::FastMathFlags::afn) &&
        !bitEnumContainsAny(flags, arith::FastMathFlags::arcp))
      groups[{divide->getBlock(), divide.getRhs()}].push_back(divide);
  });
  for (auto &[where, quotients] : groups)
    if (quotients.size() > 1)
      divideAll(quotients);
}

/// Functions that the hardware has nothing for.
bool needsPolynomial(Operation *op) {
  return isa<math::TanhOp, math::ErfOp, math::ErfcOp, math::Log1pOp, math::ExpM1Op, math::AtanOp,
             math::Atan2Op, math::AsinOp, math::AcosOp, math::CbrtOp>(op) &&
         op->getResult(0).getType().isF32() && !isApproximateTanh(op);
}

struct ExpandMathPass : tileloom::emit::impl::ExpandMathBase<ExpandMathPass> {
  void runOnOperation() override {
    SmallVector<Operation *> polynomials;
    getOperation()->walk([&](Operation *op) {
      if (needsPolynomial(op))
        polynomials.push_back(op);
    });
    if (!polynomials.empty()) {
      RewritePatternSet patterns(&getContext());
      populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
        return llvm::is_contained({"math.tanh", "math.erf", "math.erfc", "math.log1p", "math.expm1",
                                   "math.atan", "math.atan2", "math.asin", "math.acos",
                                   "math.cbrt"},
                                  name);
      });
      GreedyRewriteConfig config;
      config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
      (void)applyOpPatternsGreedily(polynomials, std::move(patterns), config);
    }
    shareReciprocals(getOperation());
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()) || isa<arith::DivFOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      OpBuilder builder(op);
      if (Value value = expand(op, builder)) {
        op->getResult(0).replaceAllUsesWith(value);
        op->erase();
      }
    }
  }
};

} // namespace
