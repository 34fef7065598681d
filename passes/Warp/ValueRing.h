//===- ValueRing.h - A ring for scalars ------------------------------------------*- C++ -*-===//
//
// What one role computes and others need travels through slots of 16 bytes: the producer waits for
// a free slot, writes, and hands it to all the others, each of which reads it and gives it back.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_PASSES_WARP_VALUERING_H
#define TILELOOM_PASSES_WARP_VALUERING_H

#include "dialects/Warp/Warp.h"

#include "mlir/IR/Builders.h"

namespace tileloom {

class ValueRing {
public:
  /// Whether values of this type can be handed over.
  static bool takes(mlir::Type type);

  /// Declares buffer and rings at the builder's place. With two slots the next value is on its way
  /// while the last one is read.
  ValueRing(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, llvm::StringRef name,
            int64_t slots = 2);

  /// In the producer: one value, or as many as a slot holds.
  void send(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange values) const;
  /// In every other role that needs the values, once for each time that they are sent.
  llvm::SmallVector<mlir::Value> receive(mlir::OpBuilder &builder, mlir::Location loc, unsigned count = 1) const;

private:
  mlir::Value slot(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value token) const;

  mlir::Type type, stored;
  mlir::Value free, ready; // rings
};

/// Whether a buffer holds values and not tiles.
bool isValueBuffer(warp::BufferType type);

} // namespace tileloom

#endif // TILELOOM_PASSES_WARP_VALUERING_H
