//===- DecoderSymbols.cpp - Special registers, variables, addresses -------===//
//
// Special registers that do not change while a warp runs become ordinary slots that the warp fills
// in when it starts; so do addresses of shared variables, which carry the CTA's rank (Program.h).
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>

namespace tileloom {
namespace sim {

int32_t Decoder::initialSlot(InitialSlot::Kind kind, unsigned bytes, int64_t value) {
  for (const InitialSlot &s : program.initial)
    if (s.kind == kind && s.bytes == bytes && s.value == value)
      return s.slot;
  InitialSlot s;
  s.slot = newSlot(bytes);
  s.kind = kind;
  s.bytes = uint8_t(bytes);
  s.value = value;
  program.initial.push_back(s);
  return s.slot;
}

int32_t Decoder::slotOfSpecial(const Operand &o, unsigned bytes) {
  static const std::unordered_map<std::string_view, InitialSlot::Kind> table = {
      {"%tid.x", InitialSlot::TidX},
      {"%tid.y", InitialSlot::TidY},
      {"%tid.z", InitialSlot::TidZ},
      {"%ntid.x", InitialSlot::NtidX},
      {"%ntid.y", InitialSlot::NtidY},
      {"%ntid.z", InitialSlot::NtidZ},
      {"%ctaid.x", InitialSlot::CtaidX},
      {"%ctaid.y", InitialSlot::CtaidY},
      {"%ctaid.z", InitialSlot::CtaidZ},
      {"%nctaid.x", InitialSlot::NctaidX},
      {"%nctaid.y", InitialSlot::NctaidY},
      {"%nctaid.z", InitialSlot::NctaidZ},
      {"%laneid", InitialSlot::LaneId},
      {"%warpid", InitialSlot::WarpId},
      {"%nwarpid", InitialSlot::NwarpId},
      {"%smid", InitialSlot::SmId},
      {"%nsmid", InitialSlot::NsmId},
      {"%gridid", InitialSlot::GridId},
      {"%lanemask_eq", InitialSlot::MaskEq},
      {"%lanemask_le", InitialSlot::MaskLe},
      {"%lanemask_lt", InitialSlot::MaskLt},
      {"%lanemask_ge", InitialSlot::MaskGe},
      {"%lanemask_gt", InitialSlot::MaskGt},
      {"%clusterid.x", InitialSlot::ClusterIdX},
      {"%clusterid.y", InitialSlot::ClusterIdY},
      {"%clusterid.z", InitialSlot::ClusterIdZ},
      {"%nclusterid.x", InitialSlot::NclusterIdX},
      {"%nclusterid.y", InitialSlot::NclusterIdY},
      {"%nclusterid.z", InitialSlot::NclusterIdZ},
      {"%cluster_ctaid.x", InitialSlot::ClusterCtaX},
      {"%cluster_ctaid.y", InitialSlot::ClusterCtaY},
      {"%cluster_ctaid.z", InitialSlot::ClusterCtaZ},
      {"%cluster_nctaid.x", InitialSlot::ClusterNctaX},
      {"%cluster_nctaid.y", InitialSlot::ClusterNctaY},
      {"%cluster_nctaid.z", InitialSlot::ClusterNctaZ},
      {"%cluster_ctarank", InitialSlot::ClusterRank},
      {"%cluster_nctarank", InitialSlot::ClusterSize},
      {"%is_explicit_cluster", InitialSlot::IsExplicitCluster},
      {"%dynamic_smem_size", InitialSlot::DynamicShared},
      {"%total_smem_size", InitialSlot::TotalShared},
      {"%aggr_smem_size", InitialSlot::TotalShared}};
  auto it = table.find(o.name);
  if (it == table.end())
    fail("special register '" + std::string(o.name) + "' can only be read by mov");
  return initialSlot(it->second, bytes);
}

bool Decoder::symbolOffset(const Operand &o, Space &space, int64_t &value) {
  if (o.local >= 0) {
    const Variable &v = frame->function->locals[size_t(o.local)];
    value = frame->localOffsets[size_t(o.local)] + o.offset;
    space = v.space == Space::Param ? Space::Local : v.space;
    return true;
  }
  std::string name(o.name);
  auto formal = frame->paramOffsets.find(name);
  if (formal != frame->paramOffsets.end()) {
    space = Space::Local;
    value = formal->second + o.offset;
    return true;
  }
  if (frame->depth == 0) {
    for (size_t i = 0; i < program.params.size(); ++i) {
      if (program.params[i].name == name) {
        space = Space::Param;
        value = int64_t(program.paramOffsets[i]) + o.offset;
        return true;
      }
    }
  }
  auto shared = sharedOffsets.find(name);
  if (shared != sharedOffsets.end()) {
    space = Space::Shared;
    value = int64_t(shared->second) + o.offset;
    return true;
  }
  auto global = addresses.find(name);
  if (global != addresses.end()) {
    space = Space::Global;
    value = int64_t(global->second) + o.offset;
    return true;
  }
  return false;
}

int32_t Decoder::slotOfSymbol(const Operand &o, unsigned bytes) {
  Space space;
  int64_t value;
  if (!symbolOffset(o, space, value))
    fail("'" + std::string(o.name) + "' is not declared");
  if (space == Space::Shared)
    return initialSlot(InitialSlot::SharedSymbol, bytes, value);
  return constant(uint64_t(value), bytes);
}

Decoder::Address Decoder::address(const Operand &o) {
  if (o.kind != Operand::Address)
    fail("an address in brackets is needed");
  Address a;
  a.offset = o.offset;
  if (o.reg >= 0) {
    Operand base;
    base.kind = Operand::Reg;
    base.reg = o.reg;
    base.name = o.name;
    unsigned bytes = registerBytes(base);
    if (bytes != 4 && bytes != 8)
      fail("address register '" + std::string(o.name) + "' must have 32 or 64 bits");
    a.wide = bytes == 8;
    a.slot = use(base, bytes == 8 ? Ty::B64 : Ty::B32);
    return a;
  }
  if (o.name.empty()) {
    a.wide = true;
    a.slot = constant(0, 8);
    return a;
  }
  Operand symbol = o;
  symbol.offset = 0;
  int64_t value;
  if (!symbolOffset(symbol, a.space, value))
    fail("'" + std::string(o.name) + "' is not declared");
  a.isSymbol = true;
  if (a.space == Space::Shared) {
    a.slot = initialSlot(InitialSlot::SharedSymbol, 4, value);
  } else {
    a.wide = true;
    a.slot = constant(uint64_t(value), 8);
  }
  return a;
}

} // namespace sim
} // namespace tileloom
