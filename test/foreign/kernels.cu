// CUDA C++ with inline PTX, compiled by nvcc when the test runs (test/python/test_sim_nvcc.py). No library: only the compiler's own types.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

__device__ inline uint32_t sharedAddress(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }

struct alignas(64) TensorMap {
  char bytes[128];
};

__device__ inline void barrierInit(uint64_t *b, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(sharedAddress(b)), "r"(count) : "memory");
}
__device__ inline void barrierExpect(uint64_t *b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sharedAddress(b)), "r"(bytes) : "memory");
}
__device__ inline void barrierWait(uint64_t *b, int parity) {
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(
                   sharedAddress(b)),
               "r"(parity)
               : "memory");
}

// out[0] += sum of x: shuffles, shared memory, atomics.
extern "C" __global__ void reduce(const float *x, float *out, int n) {
  __shared__ float part[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i];
  for (int d = 16; d; d /= 2)
    sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int d = 16; d; d /= 2)
      sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0)
      atomicAdd(out, sum);
  }
}

// Inclusive prefix sum of one block of 1024 integers.
extern "C" __global__ void scan(const int *x, int *y) {
  __shared__ int totals[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, v = x[threadIdx.x];
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    int other = __shfl_up_sync(~0u, v, d);
    v += lane >= d ? other : 0;
  }
  if (lane == 31)
    totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = totals[lane];
    for (int d = 1; d < 32; d *= 2) {
      int other = __shfl_up_sync(~0u, t, d);
      t += lane >= d ? other : 0;
    }
    totals[lane] = t;
  }
  __syncthreads();
  y[threadIdx.x] = v + (warp ? totals[warp - 1] : 0);
}

// The last block adds up what all blocks stored: fence, ticket, fence.
__device__ unsigned tickets;
extern "C" __global__ void lastBlock(const float *x, float *parts, float *out, int n) {
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < n; i += gridDim.x * 32)
    sum += x[i];
  for (int d = 16; d; d /= 2)
    sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(&tickets, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float total = 0;
    for (unsigned i = 0; i < gridDim.x; ++i)
      total += parts[i];
    *out = total;
  }
}

// C[M][N] = A[M][K] * B[N][K]^T in f16 with f32 sums: cp.async in two slots, ldmatrix, mma.sync. One warp for each 16 x 32 tile.
extern "C" __global__ void gemmMma(const __half *a, const __half *b, float *c, int n, int k) {
  __shared__ __align__(16) __half as[2][16][40], bs[2][32][40]; // rows of 32 elements, padded to 80 bytes
  int lane = threadIdx.x, row0 = blockIdx.y * 16, col0 = blockIdx.x * 32;
  float d[4][4] = {};
  auto fetch = [&](int slot, int k0) {
    for (int i = lane; i < 64; i += 32)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sharedAddress(&as[slot][i / 4][i % 4 * 8])),
                   "l"(a + (row0 + i / 4) * k + k0 + i % 4 * 8)
                   : "memory");
    for (int i = lane; i < 128; i += 32)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sharedAddress(&bs[slot][i / 4][i % 4 * 8])),
                   "l"(b + (col0 + i / 4) * k + k0 + i % 4 * 8)
                   : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  fetch(0, 0);
  for (int k0 = 0, slot = 0; k0 < k; k0 += 32, slot ^= 1) {
    if (k0 + 32 < k)
      fetch(slot ^ 1, k0 + 32);
    else
      asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncwarp();
    for (int kk = 0; kk < 32; kk += 16) {
      uint32_t x[4], y[4][2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(sharedAddress(&as[slot][lane % 16][kk + lane / 16 * 8])));
      for (int j = 0; j < 4; ++j)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(y[j][0]), "=r"(y[j][1])
                     : "r"(sharedAddress(&bs[slot][j * 8 + lane % 8][kk + lane / 8 % 2 * 8])));
      for (int j = 0; j < 4; ++j)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[j][0]), "r"(y[j][1]));
    }
    __syncwarp();
  }
  for (int j = 0; j < 4; ++j)
    for (int i = 0; i < 4; ++i)
      c[(row0 + lane / 4 + i / 2 * 8) * n + col0 + j * 8 + lane % 4 * 2 + i % 2] = d[j][i];
}

// C[64][64] = A[64][K] * B[64][K]^T in bf16: TMA loads with 128-byte swizzle in two slots, wgmma, results from registers.
extern "C" __global__ void __launch_bounds__(160) gemmWgmma(const __grid_constant__ TensorMap mapA, const __grid_constant__ TensorMap mapB,
                                                             float *c, int k) {
  extern __shared__ __align__(1024) char memory[];
  char *tiles = memory + (1024 - (sharedAddress(memory) & 1023)) % 1024;
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      barrierInit(&full[i], 1);
      barrierInit(&empty[i], 128);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  int blocks = k / 64;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128)
      for (int i = 0; i < blocks; ++i) {
        int slot = i % 2;
        barrierWait(&empty[slot], (i / 2 + 1) % 2);
        barrierExpect(&full[slot], 16384);
        for (int part = 0; part < 2; ++part)
          asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                           sharedAddress(tiles + slot * 16384 + part * 8192)),
                       "l"(part ? &mapB : &mapA), "r"(i * 64), "r"(0), "r"(sharedAddress(&full[slot]))
                       : "memory");
      }
    return;
  }
  float d[32];
  for (float &x : d)
    x = 0;
  for (int i = 0; i < blocks; ++i) {
    int slot = i % 2;
    barrierWait(&full[slot], i / 2 % 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int kk = 0; kk < 4; ++kk) {
      uint32_t base = sharedAddress(tiles + slot * 16384) + kk * 32;
      uint64_t high = uint64_t(1) << 62 | uint64_t(64) << 32 | uint64_t(1) << 16;
      uint64_t da = high | (base & 0x3FFFF) >> 4, db = high | ((base + 8192) & 0x3FFFF) >> 4;
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                   "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
                   : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
                     "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]),
                     "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                     "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
                   : "l"(da), "l"(db));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]),
                   "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14])
                 :
                 : "memory");
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(sharedAddress(&empty[slot])) : "memory");
  }
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int r = 0; r < 32; ++r)
    c[(16 * warp + lane / 4 + 8 * (r / 2 % 2)) * 64 + 8 * (r / 4) + 2 * (lane % 4) + r % 2] = d[r];
}

// A tile in by TMA, its transpose out by TMA: mbarrier, proxy fence, bulk group.
extern "C" __global__ void transpose(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to) {
  __shared__ __align__(128) float in[32][32], out[32][32];
  __shared__ uint64_t full;
  int x = blockIdx.x * 32, y = blockIdx.y * 32;
  if (threadIdx.x == 0) {
    barrierInit(&full, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    barrierExpect(&full, 4096);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     sharedAddress(in)),
                 "l"(&from), "r"(x), "r"(y), "r"(sharedAddress(&full))
                 : "memory");
  }
  __syncthreads();
  barrierWait(&full, 0);
  for (int i = threadIdx.x; i < 1024; i += blockDim.x)
    out[i % 32][i / 32] = in[i / 32][i % 32];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to), "r"(y), "r"(x),
                 "r"(sharedAddress(out))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}

// A histogram of 256 bins over a cluster of two: each CTA owns half of the bins, all count in both by distributed shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1) clusterHistogram(const unsigned char *x, int *bins, int n) {
  __shared__ int mine[128];
  for (int i = threadIdx.x; i < 128; i += blockDim.x)
    mine[i] = 0;
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int bin = x[i];
    uint32_t remote;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(sharedAddress(&mine[bin % 128])), "r"(bin / 128));
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(remote) : "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  for (int i = threadIdx.x; i < 128; i += blockDim.x)
    atomicAdd(&bins[rank * 128 + i], mine[i]);
}

// Bytes through a bulk copy, each upper-cased; errors of a partial last tile are zeros from a masked cp.async.
extern "C" __global__ void upperCase(const char *x, char *y, int tiles) {
  __shared__ __align__(128) char text[1024];
  __shared__ uint64_t full;
  if (threadIdx.x == 0)
    barrierInit(&full, 1);
  __syncthreads();
  for (int t = blockIdx.x, phase = 0; t < tiles; t += gridDim.x, phase ^= 1) {
    if (threadIdx.x == 0) {
      barrierExpect(&full, 1024);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(sharedAddress(text)),
                   "l"(x + t * 1024), "r"(sharedAddress(&full))
                   : "memory");
    }
    barrierWait(&full, phase);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x)
      text[i] = text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(y + t * 1024), "r"(sharedAddress(text)) : "memory");
      asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
  }
}
