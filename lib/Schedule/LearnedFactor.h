//===- LearnedFactor.h - What the cost model's terms leave out -------------------*- C++ -*-===//

#ifndef TILELOOM_LIB_SCHEDULE_LEARNEDFACTOR_H
#define TILELOOM_LIB_SCHEDULE_LEARNEDFACTOR_H

#include "tileloom/Schedule/Terms.h"

namespace tileloom::schedule {

/// Times what the model predicts a plain product takes, beside other schedules of the same shape: an ensemble of small trees over the
/// terms, trained by bench/fit.py on an H200. It is about one on the average over a shape's schedules and says nothing of shapes.
double learnedFactor(const Terms &terms);

} // namespace tileloom::schedule

#endif // TILELOOM_LIB_SCHEDULE_LEARNEDFACTOR_H
