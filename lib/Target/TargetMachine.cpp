//===- TargetMachine.cpp - NVPTX target machines, one per thread ---------------------------===//
//
// Making a TargetMachine takes longer than printing a small kernel, so each thread keeps its own
// (they are not safe to share). Pointers to shared, constant and local memory are 32 bits: 64-bit
// shared addresses cost a cvta and a mov at every use.
//
//===--------------------------------------------------------------------------------------===//

#include "tileloom/Target/LLVMBackend.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

// Declared by hand: llvm/Support/TargetSelect.h only has them for the targets of the host's
// llvm-config.h.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace {
struct Entry {
  const tileloom::Chip *chip;
  unsigned level;
  std::unique_ptr<llvm::TargetMachine> machine;
};
} // namespace

static llvm::SmallVector<Entry, 4> &threadMachines() {
  static thread_local llvm::SmallVector<Entry, 4> machines;
  return machines;
}

static void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    // The data layout only depends on this option, which has no programmatic form.
    auto &options = llvm::cl::getRegisteredOptions();
    if (auto it = options.find("nvptx-short-ptr"); it != options.end())
      static_cast<llvm::cl::opt<bool> *>(it->second)->setValue(true);
  });
}

namespace tileloom {

llvm::TargetMachine *getTargetMachine(const Chip &chip, unsigned optLevel, std::string &error) {
  initializeOnce();
  for (Entry &entry : threadMachines())
    if (entry.chip == &chip && entry.level == optLevel)
      return entry.machine.get();

  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // The aggressive level has full GVN where the default one has early CSE, twice, after a pipeline
  // that ends with it: ptxas makes the same code of both.
  auto level = optLevel >= 2   ? llvm::CodeGenOptLevel::Default
               : optLevel == 1 ? llvm::CodeGenOptLevel::Less
                               : llvm::CodeGenOptLevel::None;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, chip.name, chip.ptxFeature, options,
                                  /*RM=*/std::nullopt, /*CM=*/std::nullopt, level));
  if (!machine) {
    error = "LLVM cannot make an NVPTX target machine for " + chip.name.str();
    return nullptr;
  }
  threadMachines().push_back({&chip, optLevel, std::move(machine)});
  return threadMachines().back().machine.get();
}

void abandonTargetMachines() {
  for (Entry &entry : threadMachines())
    (void)entry.machine.release();
  threadMachines().clear();
}

} // namespace tileloom
