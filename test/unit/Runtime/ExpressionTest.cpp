//===- ExpressionTest.cpp - Integer expressions of a recipe ---------------===//
//
// Values, rounding of the divisions, and the errors instead of wraps.
//
//===----------------------------------------------------------------------===//
#include "Support.h"

using namespace tileloom::runtime;
using Op = Expression::Op;

static Expression constant(int64_t value) {
  Expression e;
  e.value = value;
  return e;
}
static Expression apply(Op op, int64_t left, int64_t right) {
  Expression e;
  e.op = op;
  e.of = {constant(left), constant(right)};
  return e;
}
static int64_t value(Op op, int64_t left, int64_t right) {
  return good(apply(op, left, right).evaluate({}));
}

TEST(Expression, Operations) {
  EXPECT_EQ(value(Op::Add, 2, 3), 5);
  EXPECT_EQ(value(Op::Sub, 2, 3), -1);
  EXPECT_EQ(value(Op::Mul, 1 << 20, 1 << 20), int64_t(1) << 40);
  EXPECT_EQ(value(Op::Min, 2, 3), 2);
  EXPECT_EQ(value(Op::Max, 2, 3), 3);
}

TEST(Expression, DivisionsRoundAsTheyAreCalled) {
  EXPECT_EQ(value(Op::CeilDiv, 0, 128), 0);
  EXPECT_EQ(value(Op::CeilDiv, 1, 128), 1);
  EXPECT_EQ(value(Op::CeilDiv, 128, 128), 1);
  EXPECT_EQ(value(Op::CeilDiv, INT64_MAX, 2), INT64_C(1) << 62);
  EXPECT_EQ(value(Op::CeilDiv, -1, 128), 0);
  EXPECT_EQ(value(Op::FloorDiv, 127, 128), 0);
  EXPECT_EQ(value(Op::FloorDiv, -1, 128), -1);
}

TEST(Expression, ErrorsInsteadOfWraps) {
  EXPECT_EQ(text(apply(Op::CeilDiv, 5, 0).evaluate({})),
            "size: 5 divided by 0; needed a divisor above 0");
  EXPECT_EQ(text(apply(Op::FloorDiv, 5, -2).evaluate({})),
            "size: 5 divided by -2; needed a divisor above 0");
  EXPECT_EQ(text(apply(Op::Mul, INT64_MAX, 2).evaluate({})),
            "size: mul(9223372036854775807, 2) does not fit in 64 bits");
  EXPECT_NE(text(apply(Op::Add, INT64_MAX, 1).evaluate({})), "");
  EXPECT_NE(text(apply(Op::Sub, INT64_MIN, 1).evaluate({})), "");
}

TEST(Expression, ScalarsAreExtendedByTheirType) {
  EXPECT_EQ(scalarValue(scalar(TILELOOM_I32, 0xffffffff)), -1);
  EXPECT_EQ(scalarValue(scalar(TILELOOM_I32, 0x12300000005)), 5);
  EXPECT_EQ(scalarValue(scalar(TILELOOM_U32, 0xffffffff)), 0xffffffff);
  EXPECT_EQ(scalarValue(scalar(TILELOOM_I8, 0x80)), -128);
  EXPECT_EQ(scalarValue(scalar(TILELOOM_I1, 1)), 1);
}
