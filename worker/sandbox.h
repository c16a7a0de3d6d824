// What a worker gives up, so that a file or a prompt that takes it over gains nothing.
//
//   RETURN_IF_ERROR(LimitFiles({.readable = {model_directory}, .socket_directory = "/run/inferd/w"}));  // early
//   ... bind, load the model ...
//   RETURN_IF_ERROR(LimitSystemCalls());                                                               // before
//   serving
//
// LimitFiles (Landlock) holds for the calling thread and those it starts, so it comes before gRPC's; a kernel without
// Landlock is no error. LimitSystemCalls (rlimits, no_new_privs, seccomp) holds for all threads: afterwards the process
// opens no file, makes no socket, starts no program and maps no code.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace inferd::worker {

struct FileAccess {
  std::vector<std::string> readable;  // directories, with everything in them
  std::string socket_directory;       // where a unix socket is made and removed; empty: nowhere
};

absl::Status LimitFiles(const FileAccess& access);

absl::Status LimitSystemCalls();

}  // namespace inferd::worker
