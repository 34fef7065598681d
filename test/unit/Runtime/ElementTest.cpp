//===- ElementTest.cpp - Element types of kernel arguments ----------------===//
//
// Names, sizes, compatibility, and the tensor map data types of ptx-facts 1.1 (cuda.h order).
//
//===----------------------------------------------------------------------===//
#include "tileloom/Runtime/Element.h"
#include "gtest/gtest.h"

using namespace tileloom::runtime;

TEST(Element, NamesRoundTrip) {
  for (uint32_t element = 0; element <= TILELOOM_TF32; ++element)
    EXPECT_EQ(parseElement(elementName(element)), static_cast<Element>(element));
  EXPECT_FALSE(parseElement("bf8"));
  EXPECT_EQ(elementName(TILELOOM_UNKNOWN_ELEMENT), "unknown");
}

TEST(Element, Bits) {
  EXPECT_EQ(elementBits(TILELOOM_I1), 8u);
  EXPECT_EQ(elementBits(TILELOOM_E2M1), 4u);
  EXPECT_EQ(elementBits(TILELOOM_E4M3), 8u);
  EXPECT_EQ(elementBits(TILELOOM_BF16), 16u);
  EXPECT_EQ(elementBits(TILELOOM_F64), 64u);
}

TEST(Element, SignlessTakesUnsigned) {
  EXPECT_TRUE(isCompatible(TILELOOM_U32, TILELOOM_I32));
  EXPECT_FALSE(isCompatible(TILELOOM_I32, TILELOOM_U32));
  EXPECT_FALSE(isCompatible(TILELOOM_U8, TILELOOM_I1));
  EXPECT_TRUE(isCompatible(TILELOOM_I1, TILELOOM_I8));
  EXPECT_FALSE(isCompatible(TILELOOM_U64, TILELOOM_I32));
  EXPECT_FALSE(isCompatible(TILELOOM_UNKNOWN_ELEMENT, TILELOOM_I32));
  EXPECT_FALSE(isCompatible(TILELOOM_U8, TILELOOM_E4M3));
}

TEST(Element, TensorMapDataTypes) {
  EXPECT_EQ(tensorMapDataType(TILELOOM_E4M3, false), 0);
  EXPECT_EQ(tensorMapDataType(TILELOOM_U16, false), 1);
  EXPECT_EQ(tensorMapDataType(TILELOOM_U32, false), 2);
  EXPECT_EQ(tensorMapDataType(TILELOOM_I32, false), 3);
  EXPECT_EQ(tensorMapDataType(TILELOOM_U64, false), 4);
  EXPECT_EQ(tensorMapDataType(TILELOOM_I64, false), 5);
  EXPECT_EQ(tensorMapDataType(TILELOOM_F16, false), 6);
  EXPECT_EQ(tensorMapDataType(TILELOOM_F32, false), 7);
  EXPECT_EQ(tensorMapDataType(TILELOOM_F64, false), 8);
  EXPECT_EQ(tensorMapDataType(TILELOOM_BF16, false), 9);
  EXPECT_EQ(tensorMapDataType(TILELOOM_TF32, false), 11);
  EXPECT_EQ(tensorMapDataType(TILELOOM_E2M1, false), 13);
  EXPECT_EQ(tensorMapDataType(TILELOOM_E2M1, true), 14);
}
