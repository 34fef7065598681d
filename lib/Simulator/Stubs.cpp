#include "Decoder.h"
#include "Tensor.h"
namespace tileloom { namespace sim {
void checkTensorLeaks(Cta &) {}
bool drainWgmma(Warp &) { return false; }
void decodeStoreAsync(Decoder &d) { d.fail("x"); }
void registerBarrier(DecodeTable &) {}
void registerMbarrier(DecodeTable &) {}
void registerBulk(DecodeTable &) {}
void registerTensorMap(DecodeTable &) {}
void registerMatrix(DecodeTable &) {}
void registerWgmma(DecodeTable &) {}
void registerTensor(DecodeTable &) {}
}}
