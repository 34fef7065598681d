//===- ClusterOps.td - The nv dialect: CTAs of a cluster -------------*- tablegen -*-===//
//
// Which CTA of its cluster is executing, and arrivals on the mbarriers of others.
//
//===--------------------------------------------------------------------------------------===//

#ifndef TILELOOM_DIALECTS_NV_CLUSTER_OPS_TD
#define TILELOOM_DIALECTS_NV_CLUSTER_OPS_TD

def NV_Targets : I32EnumAttr<"Targets", "which CTAs a signal goes to", [
    I32EnumAttrCase<"Self", 0, "self">, I32EnumAttrCase<"Leader", 1, "leader">, I32EnumAttrCase<"Pair", 2, "pair">,
    I32EnumAttrCase<"Cluster", 3, "cluster">]> {
  let cppNamespace = "::tileloom::nv";
  let description = [{
    `self`: the executing CTA; `leader`: the even CTA of its pair; `pair`: both; `cluster`: all CTAs of the cluster.
  }];
}

def NV_CtaRankOp : NV_Op<"cta_rank", [Pure]> {
  let summary = "Rank of the executing CTA in its cluster";
  let description = [{
    ```mlir
    %r = nv.cta_rank
    ```
  }];
  let results = (outs I32:$rank);
  let assemblyFormat = "attr-dict";
}

def NV_MBarrierArriveAtOp : NV_Op<"mbarrier.arrive_at", [NV_SingleThread]> {
  let summary = "Arrives once for each issuer on the mbarrier at the same place in other CTAs";
  let description = [{
    With the default (CTA) scope: it says that a slot is free which only asynchronous engines, or tcgen05 operations behind their
    fences, have touched. The cluster scope would be a full memory barrier in the main loop.

    ```mlir
    nv.mbarrier.arrive_at %empty by warp to leader
    ```
  }];
  let arguments = (ins NV_BarrierType:$barrier, NV_Issuer:$issuer, NV_Targets:$targets);
  let assemblyFormat = "$barrier `by` $issuer `to` $targets attr-dict";
}

def NV_WarpSyncOp : NV_Op<"warp_sync"> {
  let summary = "Joins the threads of each warp: what they did comes before what one of them signals next";
  let description = [{
    ```mlir
    nv.warp_sync
    ```
  }];
  let assemblyFormat = "attr-dict";
}

#endif // TILELOOM_DIALECTS_NV_CLUSTER_OPS_TD
