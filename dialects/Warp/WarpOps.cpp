//===- WarpOps.cpp - The warp dialect: operations -----------------------------------------===//
//
// Verifiers, and the assembly of for_each_tile.
//
//===--------------------------------------------------------------------------------------===//

#include "dialects/Warp/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tileloom;
using namespace tileloom::warp;

#define GET_OP_CLASSES
#include "dialects/Warp/WarpOps.cpp.inc"

/// Operand `index` of the block's terminator. None in a block that is not well formed: verifiers of
/// operations inside see it first.
static Value terminatorOperand(Region &region, unsigned index) {
  if (region.empty() || !region.front().mightHaveTerminator())
    return {};
  Operation *terminator = region.front().getTerminator();
  return index < terminator->getNumOperands() ? terminator->getOperand(index) : Value();
}

/// The value that `token` is on one way into it; none if it is neither carried by a loop nor
/// yielded by a branch.
static Value sourceOf(Value token) {
  auto argument = dyn_cast<BlockArgument>(token);
  Operation *owner = argument ? argument.getOwner()->getParentOp() : token.getDefiningOp();
  unsigned index = argument ? argument.getArgNumber() : cast<OpResult>(token).getResultNumber();
  if (auto loop = dyn_cast_or_null<scf::ForOp>(owner)) {
    index -= argument ? loop.getNumInductionVars() : 0;
    return index < loop.getInitArgs().size() ? loop.getInitArgs()[index] : Value();
  }
  if (auto loop = dyn_cast_or_null<scf::WhileOp>(owner)) {
    // Inits enter the region of the condition, which gives the values of body and results.
    if (!argument || argument.getOwner()->getParent() == &loop.getAfter())
      return terminatorOperand(loop.getBefore(), index + 1);
    return index < loop.getInits().size() ? loop.getInits()[index] : Value();
  }
  if (auto select = dyn_cast_or_null<arith::SelectOp>(owner)) // a branch, after canonicalisation
    return select.getTrueValue();
  if (isa_and_nonnull<scf::IfOp, scf::ExecuteRegionOp>(owner) && !argument)
    return terminatorOperand(owner->getRegion(0), index);
  return {};
}

AcquireOp tileloom::warp::originOf(Value token) {
  for (; token; token = sourceOf(token))
    if (auto acquire = token.getDefiningOp<AcquireOp>())
      return acquire;
  return {};
}

Value tileloom::warp::tokenOf(Value view) {
  while (isa_and_nonnull<nv::MemDescSliceOp, nv::MemDescTransOp, nv::MemDescReinterpretOp>(view.getDefiningOp()))
    view = view.getDefiningOp()->getOperand(0);
  auto slot = view.getDefiningOp<SlotOp>();
  return slot ? slot.getToken() : Value();
}

ReleaseOp tileloom::warp::releaseOf(Value token) {
  ReleaseOp release;
  if (!token)
    return release;
  for (Operation *user : token.getUsers())
    if (auto found = dyn_cast<ReleaseOp>(user)) {
      if (release)
        return {};
      release = found;
    }
  return release;
}

/// What ring operations need to know of a ring: the type of its buffer and which buffer that is.
struct RingUse {
  BufferType type;
  Value buffer;
  bool released = false;
};

static FailureOr<RingUse> ringOf(Operation *op, Value ring, StringRef operand) {
  if (auto declared = ring.getDefiningOp<RingOp>())
    return RingUse{declared.getBuffer().getType(), declared.getBuffer(), declared.getReleased()};
  if (auto channel = ring.getDefiningOp<ChannelOp>())
    return RingUse{channel.getBuffer(), channel.getRings().front(),
                   ring == channel.getRings().front()};
  return op->emitOpError() << operand
                           << ": expected the result of warp.ring or warp.channel, found another "
                              "value";
}

static FailureOr<RingUse> ringOfToken(Operation *op, Value token) {
  for (; token; token = sourceOf(token)) {
    Operation *def = token.getDefiningOp();
    if (isa_and_nonnull<AcquireOp, TakeOp>(def))
      return ringOf(op, def->getOperand(0), "ring of the token");
  }
  return op->emitOpError("token: expected the result of warp.acquire or warp.take, found another "
                         "value");
}

static LogicalResult verifyViews(Operation *op, BufferType buffer, ValueRange views) {
  if (buffer.getViews().size() != views.size())
    return op->emitOpError("results: expected ") << buffer.getViews().size() << " (the views of "
                                                 << buffer << "), found " << views.size();
  auto space = static_cast<nv::MemorySpace>(buffer.getSpace());
  for (auto [index, view, expected] : llvm::enumerate(views, buffer.getViews())) {
    auto found = dyn_cast<nv::MemDescType>(view.getType());
    if (!found || found.getShape() != expected.getShape() ||
        found.getElementType() != expected.getElementType() || found.getSpace() != space)
      return op->emitOpError("result ")
             << index << ": expected "
             << nv::MemDescType::get(op->getContext(), expected.getShape(),
                                     expected.getElementType(), Attribute(), space)
             << ", found " << view.getType();
  }
  return success();
}

/// A ring over a buffer of one view of `value`'s shape; none for any shape.
static FailureOr<RingUse> verifyRingOf(Operation *op, Value ring, RankedTensorType value) {
  FailureOr<RingUse> use = ringOf(op, ring, "ring");
  if (failed(use))
    return failure();
  ArrayRef<RankedTensorType> views = use->type.getViews();
  if (views.size() != 1)
    return op->emitOpError("ring: expected one over a buffer of one view, found ") << use->type;
  if (value && (views[0].getShape() != value.getShape() ||
                views[0].getElementType() != value.getElementType()))
    return op->emitOpError("ring: expected one over a buffer of ")
           << value << ", found " << use->type;
  return use;
}

static LogicalResult verifyPassedOn(Operation *op, Value ring, Value to, RankedTensorType value) {
  FailureOr<RingUse> from = verifyRingOf(op, ring, value);
  if (failed(from))
    return failure();
  FailureOr<RingUse> target = ringOf(op, to, "to");
  if (failed(target))
    return failure();
  if (target->buffer != from->buffer)
    return op->emitOpError("to: expected a ring over the same buffer");
  return success();
}

LogicalResult AcquireOp::verify() {
  if (!getStage() != !getPhase())
    return emitOpError("at: expected both stage and phase, or neither");
  return ringOf(*this, getRing(), "ring");
}

LogicalResult PeekOp::verify() {
  if (!getStage() != !getPhase())
    return emitOpError("at: expected both stage and phase, or neither");
  return ringOf(*this, getRing(), "ring");
}

LogicalResult HoldOp::verify() {
  // What a loop carries is a token's stage, not its phase.
  if (!isa_and_nonnull<AcquireOp, TakeOp>(getToken().getDefiningOp()))
    return emitOpError(
        "token: expected the result of a warp.acquire in the same iteration, found another value");
  // After its release the barrier of the slot goes on to other phases.
  for (Operation *user : getToken().getUsers())
    if (isa<ReleaseOp>(user) && user->getBlock() == (*this)->getBlock() &&
        user->isBeforeInBlock(*this))
      return emitOpError(
          "token: expected a slot that the role still holds, found one released before");
  return success();
}

LogicalResult SlotOp::verify() {
  FailureOr<RingUse> ring = ringOfToken(*this, getToken());
  return failed(ring) ? failure() : verifyViews(*this, ring->type, getViews());
}

LogicalResult ReleaseOp::verify() {
  FailureOr<RingUse> from = ringOfToken(*this, getToken());
  if (failed(from))
    return failure();
  FailureOr<RingUse> to = ringOf(*this, getRing(), "ring");
  if (failed(to))
    return failure();
  if (from->buffer != to->buffer)
    return emitOpError("ring: expected one over the buffer that the token was acquired from");
  return success();
}

LogicalResult StoreOp::verify() {
  FailureOr<RingUse> ring =
      verifyRingOf(*this, getRing(), cast<RankedTensorType>(getValue().getType()));
  if (failed(ring))
    return failure();
  if (!ring->released)
    return emitOpError("ring: expected one that starts released");
  return success();
}

LogicalResult ChannelOp::verify() {
  if (getRings().empty())
    return emitOpError("results: expected at least one ring, found none");
  return success();
}

LogicalResult TakeOp::verify() {
  FailureOr<RingUse> ring = ringOf(*this, getRing(), "ring");
  return failed(ring) ? failure() : verifyViews(*this, ring->type, getViews());
}

LogicalResult LoadOp::verify() {
  auto desc = dyn_cast<tile::DescType>(getDesc().getType());
  if (!desc)
    return emitOpError("desc: expected a descriptor, found ") << getDesc().getType();
  if (desc.getShape().size() != getCoordinates().size())
    return emitOpError("coordinates: expected ")
           << desc.getShape().size() << " for " << desc << ", found " << getCoordinates().size();
  // Its box against the view: the verifier of nv.tma.load, which leaves extents of one out.
  return verifyPassedOn(*this, getRing(), getTo(), {});
}

LogicalResult PutOp::verify() {
  return verifyPassedOn(*this, getRing(), getTo(), cast<RankedTensorType>(getValue().getType()));
}

LogicalResult GetOp::verify() {
  return verifyPassedOn(*this, getRing(), getTo(), cast<RankedTensorType>(getValue().getType()));
}

ParseResult ChannelOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalKeyword("per_replica")))
    state.addAttribute(getPerReplicaAttrName(state.name), builder.getUnitAttr());
  BufferType type;
  if (parser.parseOptionalAttrDict(state.attributes) || parser.parseColonType(type))
    return failure();
  state.addAttribute(getBufferAttrName(state.name), TypeAttr::get(type));
  state.addTypes(
      SmallVector<Type>(parser.getNumResults(), RingType::get(parser.getContext())));
  return success();
}

void ChannelOp::print(OpAsmPrinter &printer) {
  if (getPerReplica())
    printer << " per_replica";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"buffer", "per_replica"});
  printer << " : " << getBuffer();
}

LogicalResult SpecializeOp::verifyRegions() {
  bool withRegisters = false, withoutRegisters = false;
  for (Operation &op : getBody().front()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return op.emitOpError("in warp.specialize: expected only warp.role operations");
    (role.getRegisters() ? withRegisters : withoutRegisters) = true;
  }
  if (withRegisters && withoutRegisters)
    return emitOpError("register budgets: expected on all roles or on none");
  return success();
}

LogicalResult RoleOp::verify() {
  if (std::optional<int64_t> registers = getRegisters())
    if (*registers < 24 || *registers > 256 || *registers % 8)
      return emitOpError("registers: expected a multiple of 8 from 24 to 256 (setmaxnreg), found ")
             << *registers;
  if (getWarps() * getReplicas() > 32)
    return emitOpError("warps: expected at most 32 in all replicas, found ")
           << getWarps() * getReplicas();
  return success();
}

LogicalResult RoleOp::verifyRegions() {
  // What a role may use from outside: everything else would have to be kept alive in the registers
  // of all roles.
  WalkResult result = getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (getBody().isAncestor(operand.getParentRegion()))
        continue;
      Operation *def = operand.getDefiningOp();
      bool argument = !def && isa<FunctionOpInterface>(operand.getParentBlock()->getParentOp());
      if (argument || (def && (def->hasTrait<OpTrait::ConstantLike>() ||
                               isa<BufferOp, RingOp, ChannelOp, OrderOp, nv::AllocOp,
                                   nv::TmemAllocOp>(def) ||
                               // what they lower to: constant addresses in shared memory
                               def->getDialect()->getNamespace() == "llvm")))
        continue;
      op->emitOpError("in role @")
          << getSymName()
          << ": expected outside values to be kernel arguments, constants, buffers, "
          << "rings or orders, found the result of '"
          << (def ? def->getName().getStringRef() : "block") << "'";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===--------------------------------------------------------------------------------------===//
// ForEachTileOp
//===--------------------------------------------------------------------------------------===//

ParseResult ForEachTileOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::Argument i, j;
  SmallVector<OpAsmParser::UnresolvedOperand> operands(2);
  Builder &builder = parser.getBuilder();
  Type i32 = builder.getI32Type();
  i.type = j.type = i32;
  if (parser.parseLParen() || parser.parseArgument(i) || parser.parseComma() ||
      parser.parseArgument(j) || parser.parseRParen() || parser.parseKeyword("in") ||
      parser.parseLParen() || parser.parseOperand(operands[0]) || parser.parseComma() ||
      parser.parseOperand(operands[1]) || parser.parseRParen())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("group"))) {
    int64_t size;
    if (parser.parseLParen())
      return failure();
    OptionalParseResult number = parser.parseOptionalInteger(size);
    if (!number.has_value()) {
      if (parser.parseOperand(operands.emplace_back()))
        return failure();
    } else if (failed(*number)) {
      return failure();
    } else {
      state.addAttribute(getGroupAttrName(state.name), builder.getI64IntegerAttr(size));
    }
    if (parser.parseRParen())
      return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("step"))) {
    StringRef keyword;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseKeyword(&keyword) || parser.parseRParen())
      return failure();
    std::optional<TileStep> step = symbolizeTileStep(keyword);
    if (!step)
      return parser.emitError(loc, "step: expected 'all' or 'replica', found '") << keyword << "'";
    state.addAttribute(getStepAttrName(state.name), TileStepAttr::get(parser.getContext(), *step));
  }
  return failure(parser.resolveOperands(operands, i32, state.operands) ||
                 parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
                 parser.parseRegion(*state.addRegion(), {i, j}));
}

void ForEachTileOp::print(OpAsmPrinter &printer) {
  Block &body = getBody().front();
  printer << " (" << body.getArgument(0) << ", " << body.getArgument(1) << ") in (" << getM()
          << ", " << getN() << ')';
  if (getGroupSize())
    printer << " group(" << getGroupSize() << ')';
  else if (getGroup() != 1)
    printer << " group(" << getGroup() << ')';
  if (getStep() != TileStep::All)
    printer << " step(" << stringifyTileStep(getStep()) << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"group", "step"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ForEachTileOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 2)
    return emitOpError("body arguments: expected 2 tile coordinates, found ")
           << body.getNumArguments();
  if (getGroupSize() && getGroup() != 1)
    return emitOpError("group: expected a number or a value, found both");
  return success();
}
