//===- fake_cuda.h - Shared parts of the recording driver -----------------===//
//
// Settings, the log, and the rules of graph capture, for the files of the fake driver.
//
//===----------------------------------------------------------------------===//
#ifndef TILELOOM_TEST_FAKE_CUDA_H
#define TILELOOM_TEST_FAKE_CUDA_H

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

/// The value of a setting (fakeCudaSet).
HIDDEN long fakeSetting(const char *name);
/// Appends a line to the log.
HIDDEN void fakeRecord(const char *format, ...);
/// The code with which function `name` is set to fail, or 0.
HIDDEN int fakeFailure(const char *name);
/// Whether a call that a capture does not allow spoils one now.
HIDDEN int fakeSpoils(const char *name);

extern HIDDEN _Thread_local int fakeCaptureMode; ///< 0 global, 2 relaxed

#define FAILS()                                                                                    \
  do {                                                                                             \
    int code = fakeFailure(__func__);                                                              \
    if (code)                                                                                      \
      return code;                                                                                 \
  } while (0)

/// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED for a call that a capture does not allow.
#define UNCAPTURABLE()                                                                             \
  do {                                                                                             \
    if (fakeSpoils(__func__))                                                                      \
      return 900;                                                                                  \
  } while (0)

#endif // TILELOOM_TEST_FAKE_CUDA_H
