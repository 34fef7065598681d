//===- AccessPlanTest.cpp - Memory plans, executed on bytes -----------------===//
//
// stmatrix, ldmatrix and vector accesses as PTX ISA 9.7.14.5.15-16 define them, run on an array of
// bytes that must then agree with the two layouts.
//
//===----------------------------------------------------------------------===//
#include "tileloom/Layout/AccessPlan.h"
#include "LayoutTestSupport.h"

using namespace tileloom::layout;

namespace {
/// Shared memory, and all registers of a CTA, as bytes; an element's bytes come from its number.
struct Machine {
  const RegisterLayout &regs;
  const SharedLayout &shared;
  int64_t elementBytes;
  std::vector<int> memory, file; ///< -1: never written

  Machine(const RegisterLayout &regs, const SharedLayout &shared)
      : regs(regs), shared(shared), elementBytes(shared.elementBits() / 8),
        memory(shared.sizeBytes(), -1),
        file(size_t(regs.registersPerThread()) * 32 * regs.warps() * elementBytes, -1) {}
  int byteOf(int64_t element, int64_t byte) const {
    return int((element * 2654435761u + byte * 40503u) >> 7 & 0xFF);
  }
  int &registerByte(unsigned reg, unsigned lane, unsigned warp, int64_t byte) {
    return file[((size_t(warp) * 32 + lane) * regs.registersPerThread() + reg) * elementBytes +
                byte];
  }
  void fillRegisters() {
    for (unsigned warp = 0; warp < regs.warps(); ++warp)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned reg = 0; reg < regs.registersPerThread(); ++reg)
          for (int64_t byte = 0; byte < elementBytes; ++byte)
            registerByte(reg, lane, warp, byte) = byteOf(regs.flatIndexOf(reg, lane, warp), byte);
  }
  void fillMemory() {
    for (int64_t element = 0; element < regs.numElements(); ++element)
      for (int64_t byte = 0; byte < elementBytes; ++byte)
        memory[shared.offsetOf(regs.unflatten(element)) + byte] = byteOf(element, byte);
  }
  void move(bool isStore, int64_t address, int &reg) {
    if (isStore)
      memory.at(address) = reg;
    else
      reg = memory.at(address);
  }
  void run(const SharedAccessPlan &plan) {
    for (const SharedAccess &access : plan.accesses)
      for (unsigned warp = 0; warp < regs.warps(); ++warp)
        for (unsigned lane = 0; lane < 32; ++lane)
          plan.kind == SharedAccessPlan::Matrix ? matrix(plan, access, lane, warp)
                                                : vector(plan, access, lane, warp);
  }
  void matrix(const SharedAccessPlan &plan, const SharedAccess &access, unsigned t, unsigned warp) {
    size_t count = access.words.size();
    ASSERT_TRUE(count == 1 || count == 2 || count == 4);
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_EQ(int64_t(access.words[i].size()) * elementBytes, 4);
      for (unsigned byte = 0; byte < 4; ++byte) { // of the lane's 32-bit register i
        unsigned half = byte / 2;
        unsigned row = plan.transposed ? 2 * (t % 4) + half : t / 4;
        unsigned column = plan.transposed ? t / 4 : 2 * (t % 4) + half;
        int64_t rowStart = plan.addressOf(access, 8 * i + row, warp);
        ASSERT_EQ(rowStart % 16, 0);
        move(plan.isStore, rowStart + 2 * column + byte % 2,
             registerByte(access.words[i][byte / elementBytes], t, warp, byte % elementBytes));
      }
    }
  }
  void vector(const SharedAccessPlan &plan, const SharedAccess &access, unsigned t, unsigned warp) {
    if (plan.isStore && ((t & plan.copyLanes) || (warp & plan.copyWarps)))
      return; // copies need not be stored
    ASSERT_EQ(access.words.size(), 1u);
    int64_t start = plan.addressOf(access, t, warp);
    ASSERT_EQ(int64_t(access.words[0].size()) * elementBytes, int64_t(plan.vectorBytes));
    ASSERT_EQ(start % plan.vectorBytes, 0);
    for (int64_t byte = 0; byte < plan.vectorBytes; ++byte)
      move(plan.isStore, start + byte,
           registerByte(access.words[0][byte / elementBytes], t, warp, byte % elementBytes));
  }
};
} // namespace

/// The plan stores and loads exactly the tile.
static void execute(const RegisterLayout &regs, const SharedLayout &shared,
                    const SharedAccessPlan &plan) {
  Machine machine(regs, shared), wanted(regs, shared);
  wanted.fillMemory();
  wanted.fillRegisters();
  if (plan.isStore) {
    machine.fillRegisters();
    machine.run(plan);
    ASSERT_TRUE(machine.memory == wanted.memory) << shared.str();
  } else {
    machine.fillMemory();
    machine.run(plan);
    ASSERT_TRUE(machine.file == wanted.file) << shared.str();
  }
}

static const Swizzle swizzles[] = {Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64,
                                   Swizzle::Bytes128};

TEST(MatrixAccess, AccumulatorsThroughEverySwizzle) {
  for (Swizzle swizzle : swizzles)
    for (int64_t n : {16, 64, 96, 112, 128, 176, 192, 256}) {
      if (swizzle != Swizzle::None && n * 2 % swizzleWidth(swizzle))
        continue;
      RegisterLayout regs = get(RegisterLayout::wgmmaAccumulator({64, n}, 4, 16));
      SharedLayout shared = get(SharedLayout::create({64, n}, 16, swizzle));
      SharedAccessPlan store = get(matrixStorePlan(regs, shared));
      ASSERT_EQ(store.kind, SharedAccessPlan::Matrix);
      EXPECT_FALSE(store.transposed);
      execute(regs, shared, store);
      execute(regs, shared, get(matrixLoadPlan(regs, shared)));
      EXPECT_EQ(int64_t(store.accesses.size()), (n / 8 + 1) / 2); // .x4, one .x2 at an odd end
      if (swizzle == Swizzle::Bytes128) {
        EXPECT_TRUE(bankConflicts(store, 4).conflictFree());
        EXPECT_LE(store.xorConstants().size(), 4u);
      }
      // Into a transposed view: rows of memory run along M.
      SharedLayout across = get(SharedLayout::create({64, n}, 16, Swizzle::Bytes128, Major::MN));
      SharedAccessPlan turned = get(matrixStorePlan(regs, across));
      EXPECT_TRUE(turned.transposed);
      execute(regs, across, turned);
      execute(regs, across, get(matrixLoadPlan(regs, across)));
      EXPECT_TRUE(bankConflicts(turned, 4).conflictFree());
      EXPECT_EQ(int64_t(turned.accesses.size()), (n / 8 + 1) / 2);
    }
  // In f32 a lane's neighbours are 8 bytes: no matrices, two-element stores instead.
  RegisterLayout wide = get(RegisterLayout::wgmmaAccumulator({64, 64}, 4));
  SharedLayout shared = get(SharedLayout::create({64, 64}, 32, Swizzle::Bytes128));
  expectError(matrixStorePlan(wide, shared), "do not hold 8x8 matrices");
  EXPECT_EQ(get(sharedStorePlan(wide, shared)).vectorBytes, 8u);
}

TEST(MatrixAccess, SeveralBlocksAndWarpgroups) {
  for (unsigned warps : {4u, 8u, 12u})
    for (int64_t n : {64, 96, 192})
      for (Swizzle swizzle : {Swizzle::Bytes64, Swizzle::Bytes32}) {
        RegisterLayout regs = get(RegisterLayout::wgmmaAccumulator({384, n}, warps));
        SharedLayout shared = get(SharedLayout::create({384, n}, 16, swizzle));
        execute(regs, shared, get(matrixStorePlan(regs, shared)));
        SharedLayout across = get(SharedLayout::create({384, n}, 16, swizzle, Major::MN));
        execute(regs, across, get(matrixStorePlan(regs, across)));
      }
}

TEST(MatrixAccess, OperandFragments) {
  // ldmatrix of A fragments of every element width, and of B from [n, k] and (transposed) [k, n].
  for (unsigned bits : {8u, 16u, 32u}) {
    int64_t k = 1024 / bits;
    for (Swizzle swizzle : {Swizzle::Bytes32, Swizzle::Bytes128}) {
      SharedLayout shared = get(SharedLayout::create({64, k}, bits, swizzle));
      RegisterLayout a = get(RegisterLayout::wgmmaOperandA({64, k}, bits, 4));
      execute(a, shared, get(matrixLoadPlan(a, shared)));
      execute(a, shared, get(matrixStorePlan(a, shared)));
      RegisterLayout b = get(RegisterLayout::mmaOperandB({k, 64}, bits, 4));
      SharedLayout nk = shared.transposed(); // memory is [n, k]
      execute(b, nk, get(matrixLoadPlan(b, nk)));
      EXPECT_FALSE(get(matrixLoadPlan(b, nk)).transposed);
      if (bits == 16) {
        SharedLayout kn = get(SharedLayout::create({k, 64}, bits, swizzle));
        SharedAccessPlan plan = get(matrixLoadPlan(b, kn));
        EXPECT_TRUE(plan.transposed);
        EXPECT_EQ(plan.accesses.size(), size_t(k / 8 * 64 / 8 / 4));
        execute(b, kn, plan);
      }
    }
  }
}

TEST(MatrixAccess, SubTilesOfAnEpilogue) {
  // 64-column pieces of a 64x256 accumulator into one 64x64 buffer.
  RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({64, 256}, 4));
  SharedLayout buffer = get(SharedLayout::create({64, 64}, 16, Swizzle::Bytes128));
  for (int64_t begin = 0; begin < 256; begin += 64) {
    SubLayout piece = get(columns(acc, begin, 64));
    SharedAccessPlan plan = get(matrixStorePlan(piece.layout, buffer));
    execute(piece.layout, buffer, plan);
    EXPECT_EQ(plan.accesses.size(), 4u);
  }
}

TEST(MatrixAccess, RefusesWhatDoesNotFit) {
  RegisterLayout blocked = get(RegisterLayout::blocked({64, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0}));
  SharedLayout shared = get(SharedLayout::create({64, 64}, 16, Swizzle::Bytes128));
  expectError(matrixStorePlan(blocked, shared), "do not hold 8x8 matrices");
  expectError(matrixStorePlan(get(RegisterLayout::wgmmaAccumulator({64, 32}, 4)), shared),
              "need the same shape");
  EXPECT_EQ(get(sharedStorePlan(blocked, shared)).kind, SharedAccessPlan::Vector);
}

TEST(VectorAccess, BlockedTilesUse16Bytes) {
  for (Swizzle swizzle : swizzles) {
    RegisterLayout blocked = get(RegisterLayout::blocked({48, 64}, {1, 8}, {4, 8}, {4, 1}, {1, 0}));
    SharedLayout shared = get(SharedLayout::create({48, 64}, 16, swizzle));
    SharedAccessPlan store = get(vectorStorePlan(blocked, shared));
    EXPECT_EQ(store.vectorBytes, 16u);
    execute(blocked, shared, store);
    execute(blocked, shared, get(vectorLoadPlan(blocked, shared)));
    if (swizzle == Swizzle::Bytes128) {
      EXPECT_TRUE(bankConflicts(store, 4).conflictFree());
    }
  }
}

TEST(VectorAccess, EveryNamedLayout) {
  for (Swizzle swizzle : swizzles)
    for (unsigned bits : {8u, 16u, 32u}) {
      SharedLayout shared = get(SharedLayout::create({128, 1536 / bits * 4}, bits, swizzle));
      int64_t n = shared.shape()[1];
      for (const RegisterLayout &regs :
           {get(RegisterLayout::wgmmaAccumulator({128, n}, 4)),
            get(RegisterLayout::wgmmaAccumulator({128, n}, 8)),
            get(RegisterLayout::wgmmaOperandA({128, n}, bits, 4)),
            get(RegisterLayout::tmem(TmemShape::S32x32b, {128, n}, 4, bits)),
            get(RegisterLayout::tmem(TmemShape::S16x64b, {128, n}, 4, bits))}) {
        SharedAccessPlan store = get(vectorStorePlan(regs, shared));
        execute(regs, shared, store);
        execute(regs, shared, get(vectorLoadPlan(regs, shared)));
        BankReport report = bankConflicts(store, regs.warps());
        EXPECT_GE(report.wavefronts, report.ideal);
      }
    }
}

TEST(VectorAccess, RandomLayoutsWithCopies) {
  Random random(9);
  for (int i = 0; i < 30; ++i) {
    RegisterLayout regs = randomLayout(random, 48, 96);
    for (Swizzle swizzle : swizzles) {
      SharedLayout shared = get(
          SharedLayout::create({48, 96}, i % 2 ? 16 : 32,
                               i % 2 && swizzle == Swizzle::Bytes128 ? Swizzle::Bytes64 : swizzle));
      execute(regs, shared, get(sharedStorePlan(regs, shared)));
      execute(regs, shared, get(sharedLoadPlan(regs, shared)));
    }
  }
  // General linear cores: a plan, or an error that says why.
  int planned = 0;
  for (int i = 0; i < 30; ++i) {
    RegisterLayout regs = randomLayout(random, 32, 64, 4, true);
    SharedLayout shared = get(SharedLayout::create({32, 64}, 16, swizzles[i % 4]));
    llvm::Expected<SharedAccessPlan> plan = sharedLoadPlan(regs, shared);
    if (!plan) {
      expectError(std::move(plan), "not one function");
      continue;
    }
    execute(regs, shared, *plan);
    ++planned;
  }
  EXPECT_GT(planned, 20);
  // A vector: the slice of an accumulator, where lanes hold copies.
  RegisterLayout rowsOf = get(slice(get(RegisterLayout::wgmmaAccumulator({64, 64}, 4)), 1)).layout;
  SharedLayout vector = get(SharedLayout::create({64}, 32, Swizzle::None));
  execute(rowsOf, vector, get(vectorStorePlan(rowsOf, vector)));
  execute(rowsOf, vector, get(vectorLoadPlan(rowsOf, vector)));
}

/// Every element of every thread is met once (loads), or at least once over all (stores).
static void executeGlobal(const RegisterLayout &regs, const GlobalAccessPlan &plan, bool isStore) {
  std::vector<int> stored(regs.numElements(), 0);
  for (unsigned warp = 0; warp < regs.warps(); ++warp)
    for (unsigned lane = 0; lane < 32; ++lane) {
      std::vector<int> loaded(regs.registersPerThread(), 0);
      bool copy = (lane & plan.copyLanes) || (warp & plan.copyWarps);
      for (const GlobalAccessPlan::Access &access : plan.accesses) {
        ASSERT_EQ(access.registers.size(), plan.vectorElements);
        for (unsigned i = 0; i < access.registers.size(); ++i) {
          Index index;
          for (unsigned dim = 0; dim < regs.rank(); ++dim)
            index.push_back(plan.coordinate[dim].at(lane, warp) + access.index[dim]);
          if (i == 0) {
            ASSERT_EQ(index[plan.contiguousDim] % plan.vectorElements, 0);
          }
          index[plan.contiguousDim] += i;
          ASSERT_EQ(index, regs.indexOf(access.registers[i], lane, warp));
          ++loaded[access.registers[i]];
          if (!copy)
            ++stored[regs.flatten(index)];
        }
      }
      for (int count : loaded)
        ASSERT_TRUE(count == 1 || (isStore && count == 0));
    }
  for (int count : stored)
    ASSERT_EQ(count, 1);
}

TEST(GlobalAccess, Plans) {
  RegisterLayout blocked = get(RegisterLayout::blocked({48, 96}, {1, 8}, {8, 4}, {4, 1}, {1, 0}));
  GlobalAccessPlan plan = get(globalAccessPlan(blocked, 16, 1, 16, true));
  EXPECT_EQ(plan.vectorElements, 8u);
  executeGlobal(blocked, plan, true);
  EXPECT_EQ(get(globalAccessPlan(blocked, 16, 1, 4, true)).vectorElements, 2u);
  EXPECT_EQ(get(globalAccessPlan(blocked, 16, 0, 16, true)).vectorElements, 1u);
  RegisterLayout acc = get(RegisterLayout::wgmmaAccumulator({192, 96}, 12));
  plan = get(globalAccessPlan(acc, 32, 1, 16, false));
  EXPECT_EQ(plan.vectorElements, 2u);
  executeGlobal(acc, plan, false);
  Random random(10);
  for (int i = 0; i < 40; ++i) {
    RegisterLayout regs = randomLayout(random, 48, 80);
    for (unsigned dim : {0u, 1u})
      for (bool isStore : {false, true})
        executeGlobal(regs, get(globalAccessPlan(regs, 16, dim, 16, isStore)), isStore);
  }
  // Register and lane in one coordinate bit.
  LinearLayout mixed = get(LinearLayout::create({{"register", 1}, {"lane", 5}, {"warp", 0}},
                                                {{"dim0", 6}}, {1, 3, 4, 8, 16, 32}));
  expectError(globalAccessPlan(get(RegisterLayout::create(mixed)), 32, 0, 16, true), "share a bit");
  expectError(globalAccessPlan(acc, 32, 2, 16, false), "contiguous dimension 2");
  expectError(globalAccessPlan(acc, 32, 1, 2, false), "at least 4 bytes");
}

TEST(AccessPlans, RegisterRuns) {
  // Four neighbours in each thread; eight are not to be had, and none along the other dimension.
  RegisterLayout regs = get(RegisterLayout::blocked({8, 256}, {1, 4}, {1, 32}, {2, 1}, {1, 0}));
  for (int64_t count : {4, 8}) {
    auto runs = registerRuns(regs, 1, count);
    ASSERT_EQ(runs.size() * 4, regs.registersPerThread());
    for (const auto &run : runs)
      for (unsigned warp = 0; warp < 2; ++warp)
        for (unsigned lane = 0; lane < 32; ++lane) {
          Index first = regs.indexOf(run[0], lane, warp);
          EXPECT_EQ(first[1] % 4, 0);
          for (int i = 1; i < 4; ++i) {
            Index next = first;
            next[1] += i;
            EXPECT_EQ(regs.indexOf(run[i], lane, warp), next);
          }
        }
  }
  for (const auto &run : registerRuns(regs, 0, 2))
    EXPECT_EQ(run.size(), 1u);
  // Pairs of the accumulator's columns.
  EXPECT_EQ(registerRuns(get(RegisterLayout::wgmmaAccumulator({64, 16}, 4)), 1, 4).front().size(),
            2u);
}

TEST(BankReports, SeeConflicts) {
  // Without a swizzle the eight rows of a matrix in a 128-byte wide tile meet in the same banks.
  RegisterLayout regs = get(RegisterLayout::wgmmaAccumulator({64, 64}, 4));
  SharedLayout plain = get(SharedLayout::create({64, 64}, 16, Swizzle::None));
  BankReport report = bankConflicts(get(matrixStorePlan(regs, plain)), 4);
  EXPECT_EQ(report.wavefronts, 8 * report.ideal);
}
