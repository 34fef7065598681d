//===- Subprocess.cpp - Run a program with a deadline --------------------------------------===//
//
// posix_spawn in a process group of its own, so that a program that ran out of time dies with its
// children.
//
//===--------------------------------------------------------------------------------------===//

#include "Subprocess.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

using Clock = std::chrono::steady_clock;

static int spawn(const std::vector<std::string> &command, int output, pid_t &child) {
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  int code = posix_spawn(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

/// Reads until end of file or the deadline; false at the deadline.
static bool readAll(int fd, Clock::time_point deadline, std::string &text) {
  char buffer[4096];
  for (;;) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0)
      return false;
    pollfd entry{fd, POLLIN, 0};
    int ready = poll(&entry, 1, left > 1000000 ? 1000000 : static_cast<int>(left));
    if (ready < 0 && errno != EINTR)
      return true;
    if (ready <= 0)
      continue;
    ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return true;
    text.append(buffer, static_cast<size_t>(count));
  }
}

namespace tileloom {

SubprocessResult runSubprocess(const std::vector<std::string> &command, unsigned timeoutSeconds) {
  SubprocessResult result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result.error = std::string("cannot make a pipe: ") + std::strerror(errno);
    return result;
  }
  pid_t child = 0;
  int code = spawn(command, ends[1], child);
  close(ends[1]);
  if (code != 0) {
    close(ends[0]);
    result.error = std::strerror(code);
    return result;
  }
  result.started = true;
  result.timedOut =
      !readAll(ends[0], Clock::now() + std::chrono::seconds(timeoutSeconds), result.output);
  close(ends[0]);
  if (result.timedOut)
    kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) { // a host that ignores SIGCHLD: the status is lost
      result.error = std::string("its exit status is not available: ") + std::strerror(errno);
      return result;
    }
  if (WIFEXITED(status))
    result.exitCode = WEXITSTATUS(status);
  else if (WIFSIGNALED(status))
    result.signal = WTERMSIG(status);
  return result;
}

} // namespace tileloom
