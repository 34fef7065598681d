//===- AttributeJsonTest.cpp - Attributes as JSON --------------------------------------------===//

#include "tileloom/Driver/Report.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

static std::string convert(llvm::StringRef text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::Attribute attribute = mlir::parseAttribute(text, &context);
  EXPECT_TRUE(attribute);
  return attribute ? llvm::formatv("{0}", tileloom::attributeToJson(attribute)).str()
                   : std::string();
}

TEST(AttributeJson, Scalars) {
  EXPECT_EQ(convert("true"), "true");
  EXPECT_EQ(convert("-3 : i32"), "-3");
  EXPECT_EQ(convert("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(convert("255 : ui8"), "255");
  EXPECT_EQ(convert("-1 : i8"), "-1");
  EXPECT_EQ(convert("0.5 : f32"), "0.5");
  EXPECT_EQ(convert("\"a\\22b\""), "\"a\\\"b\"");
  EXPECT_EQ(convert("@k"), "\"k\"");
  EXPECT_EQ(convert("unit"), "true");
  EXPECT_EQ(convert("36893488147419103232 : i80"), "\"36893488147419103232\"");
}

TEST(AttributeJson, Nesting) {
  EXPECT_EQ(convert("{b = [1, {}], a = array<i64: 2, 3>, c = array<i1: true>}"),
            R"({"a":[2,3],"b":[1,{}],"c":[true]})");
}

TEST(AttributeJson, OtherAttributesArePrinted) {
  EXPECT_EQ(convert("f32"), "\"f32\"");
  EXPECT_EQ(convert("affine_map<(d0) -> (d0)>"), "\"affine_map<(d0) -> (d0)>\"");
}
