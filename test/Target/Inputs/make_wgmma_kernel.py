"""Prints an LLVM-dialect kernel with a main loop of wgmma on 128 fp32 accumulators.

The shape of what the compiler itself emits for a 64x256 tile of one math warpgroup: accumulators as scalars in SSA,
k-steps unrolled, a wait that ties the accumulators, an epilogue that converts and stores. Used to measure the fixed cost
of the back end, and to check that ptxas keeps wgmma asynchronous.

usage: make_wgmma_kernel.py [--k-steps 4] [--copies 1] [--no-wait]
"""
import argparse

ACC = 128


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--k-steps", type=int, default=4)
    parser.add_argument("--copies", type=int, default=1, help="number of such loops, one after the other")
    parser.add_argument("--no-wait", action="store_true", help="leave out the wait: ptxas then adds its own (C7517)")
    args = parser.parse_args()
    out = []
    emit = out.append
    struct = "!llvm.struct<(" + ", ".join(["f32"] * ACC) + ")>"
    outputs = ",".join(["=f"] * ACC)
    tied = ",".join(str(i) for i in range(ACC))
    regs = "{" + ", ".join(f"${i}" for i in range(ACC)) + "}"
    fresh = [0]

    def name():
        fresh[0] += 1
        return f"%v{fresh[0]}"

    def op(text):
        result = name()
        emit(f"    {result} = {text}")
        return result

    def tied_asm(text, accs, extra=(), extra_constraints=""):
        operands = list(accs) + [value for value, _ in extra]
        types = ["f32"] * ACC + [kind for _, kind in extra]
        constraints = f"{outputs},{tied}{extra_constraints}"
        packed = op(f'llvm.inline_asm has_side_effects "{text}", "{constraints}" {", ".join(operands)} : '
                    f'({", ".join(types)}) -> {struct}')
        return [op(f"llvm.extractvalue {packed}[{i}] : {struct}") for i in range(ACC)]

    emit("llvm.func @sample(%a: i64, %b: i64, %n: i32, %out: !llvm.ptr<1>) attributes "
         "{nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>, nvvm.minctasm = 1 : i32} {")
    zero = op("llvm.mlir.constant(0.0 : f32) : f32")
    c0 = op("llvm.mlir.constant(0 : i32) : i32")
    c1 = op("llvm.mlir.constant(1 : i32) : i32")
    two = op("llvm.mlir.constant(2 : i64) : i64")
    tid = op("nvvm.read.ptx.sreg.tid.x : i32")
    instruction = (f"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {regs}, ${2 * ACC}, ${2 * ACC + 1}, 1, 1, 1, 0, 0;")
    accs = [zero] * ACC
    for copy in range(args.copies):
        head, body, done = f"^head{copy}", f"^body{copy}", f"^done{copy}"
        emit(f"    llvm.br {head}({c0}{''.join(', ' + a for a in accs)} : i32{', f32' * ACC})")
        iv, phis = f"%i{copy}", [f"%p{copy}_{i}" for i in range(ACC)]
        emit(f"  {head}({iv}: i32{''.join(f', {p}: f32' for p in phis)}):")
        more = op(f'llvm.icmp "slt" {iv}, %n : i32')
        emit(f"    llvm.cond_br {more}, {body}, {done}")
        emit(f"  {body}:")
        emit("    nvvm.wgmma.fence.aligned")
        current, da, db = phis, "%a", "%b"
        for _ in range(args.k_steps):
            current = tied_asm(instruction, current, [(da, "i64"), (db, "i64")], ",l,l")
            da, db = op(f"llvm.add {da}, {two} : i64"), op(f"llvm.add {db}, {two} : i64")
        emit("    nvvm.wgmma.commit.group.sync.aligned")
        if not args.no_wait:
            current = tied_asm("wgmma.wait_group.sync.aligned 0;", current)
        step = op(f"llvm.add {iv}, {c1} : i32")
        emit(f"    llvm.br {head}({step}{''.join(', ' + a for a in current)} : i32{', f32' * ACC})")
        emit(f"  {done}:")
        accs = phis
    for i in range(0, ACC, 2):
        pair = op(f'llvm.inline_asm "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f" {accs[i]}, {accs[i + 1]} : (f32, f32) -> i32')
        offset = op(f"llvm.mlir.constant({i // 2 * 128} : i32) : i32")
        index = op(f"llvm.add {tid}, {offset} : i32")
        address = op(f"llvm.getelementptr %out[{index}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32")
        emit(f"    llvm.store {pair}, {address} : i32, !llvm.ptr<1>")
    emit("    llvm.return")
    emit("}")
    print("\n".join(out))


main()
