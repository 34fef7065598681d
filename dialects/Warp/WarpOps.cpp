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

LogicalResult AcquireOp::verify() {
  if (!getStage() != !getPhase())
    return emitOpError("at: expected both stage and phase, or neither");
  if (!getRing().getDefiningOp<RingOp>())
    return emitOpError("ring: expected the result of warp.ring, found another value");
  return success();
}

LogicalResult PeekOp::verify() {
  if (!getStage() != !getPhase())
    return emitOpError("at: expected both stage and phase, or neither");
  if (!getRing().getDefiningOp<RingOp>())
    return emitOpError("ring: expected the result of warp.ring, found another value");
  return success();
}

LogicalResult HoldOp::verify() {
  // What a loop carries is a token's stage, not its phase.
  if (!getToken().getDefiningOp<AcquireOp>())
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
  AcquireOp acquire = originOf(getToken());
  if (!acquire)
    return emitOpError("token: expected the result of warp.acquire, found another value");
  auto ring = acquire.getRing().getDefiningOp<RingOp>();
  if (!ring)
    return success(); // reported on the acquire
  BufferType buffer = ring.getBuffer().getType();
  if (buffer.getViews().size() != getViews().size())
    return emitOpError("results: expected ") << buffer.getViews().size() << " (the views of "
                                             << buffer << "), found " << getViews().size();
  auto space = static_cast<nv::MemorySpace>(buffer.getSpace());
  for (auto [index, view, expected] : llvm::enumerate(getViews(), buffer.getViews())) {
    auto found = dyn_cast<nv::MemDescType>(view.getType());
    if (!found || found.getShape() != expected.getShape() ||
        found.getElementType() != expected.getElementType() || found.getSpace() != space)
      return emitOpError("result ")
             << index << ": expected "
             << nv::MemDescType::get(getContext(), expected.getShape(), expected.getElementType(),
                                     Attribute(), space)
             << ", found " << view.getType();
  }
  return success();
}

LogicalResult ReleaseOp::verify() {
  AcquireOp acquire = originOf(getToken());
  if (!acquire)
    return emitOpError("token: expected the result of warp.acquire, found another value");
  auto from = acquire.getRing().getDefiningOp<RingOp>();
  auto to = getRing().getDefiningOp<RingOp>();
  if (!to)
    return emitOpError("ring: expected the result of warp.ring, found another value");
  if (from && from.getBuffer() != to.getBuffer())
    return emitOpError("ring: expected one over the buffer that the token was acquired from");
  return success();
}

LogicalResult StoreOp::verify() {
  auto ring = getRing().getDefiningOp<RingOp>();
  if (!ring)
    return emitOpError("ring: expected the result of warp.ring, found another value");
  BufferType buffer = ring.getBuffer().getType();
  auto value = cast<RankedTensorType>(getValue().getType());
  if (buffer.getViews().size() != 1 || buffer.getViews()[0].getShape() != value.getShape() ||
      buffer.getViews()[0].getElementType() != value.getElementType())
    return emitOpError("ring: expected one over a buffer of ") << value << ", found " << buffer;
  if (!ring.getReleased())
    return emitOpError("ring: expected one that starts released");
  return success();
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
                               isa<BufferOp, RingOp, OrderOp, nv::AllocOp, nv::TmemAllocOp>(def) ||
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
  OpAsmParser::UnresolvedOperand m, n;
  Type i32 = parser.getBuilder().getI32Type();
  i.type = j.type = i32;
  if (parser.parseLParen() || parser.parseArgument(i) || parser.parseComma() ||
      parser.parseArgument(j) || parser.parseRParen() || parser.parseKeyword("in") ||
      parser.parseLParen() || parser.parseOperand(m) || parser.parseComma() ||
      parser.parseOperand(n) || parser.parseRParen() ||
      parser.resolveOperands({m, n}, i32, state.operands))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("group"))) {
    int64_t group;
    if (parser.parseLParen() || parser.parseInteger(group) || parser.parseRParen())
      return failure();
    state.addAttribute(getGroupAttrName(state.name), parser.getBuilder().getI64IntegerAttr(group));
  }
  if (succeeded(parser.parseOptionalKeyword("step"))) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseLParen() || parser.parseKeyword(&keyword) || parser.parseRParen())
      return failure();
    std::optional<TileStep> step = symbolizeTileStep(keyword);
    if (!step)
      return parser.emitError(loc, "step: expected 'all' or 'replica', found '") << keyword << "'";
    state.addAttribute(getStepAttrName(state.name), TileStepAttr::get(parser.getContext(), *step));
  }
  return failure(parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
                 parser.parseRegion(*state.addRegion(), {i, j}));
}

void ForEachTileOp::print(OpAsmPrinter &printer) {
  Block &body = getBody().front();
  printer << " (" << body.getArgument(0) << ", " << body.getArgument(1) << ") in (" << getM()
          << ", " << getN() << ')';
  if (getGroup() != 1)
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
  return success();
}
