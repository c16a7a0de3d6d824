// What inferctl can do, one function a verb: each asks the supervisor (and for models and chat the public port),
// prints, and returns the exit code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/ctl/conversation.h"

namespace inferd::daemon {

// PEM texts, for an admin service on another machine; all empty: a unix socket, which needs none.
struct AdminCertificates {
  std::string certificate, key, ca;
};

class AdminClient {
 public:
  // `address`: a gRPC target, e.g. unix:/run/inferd/admin.sock.
  AdminClient(std::string address, const AdminCertificates& certificates);
  ~AdminClient();

  int Status(bool as_json) const;
  int Models(bool as_json) const;
  // With an empty message a conversation on the terminal; without a model the one named or aliased "default", else the
  // first that is ready.
  int Chat(ChatOptions options, const std::string& message, int interrupts) const;
  int Reload(bool dry_run) const;
  int Load(const std::string& model, const std::string& path, bool dry_run) const;
  int Unload(const std::string& model, uint64_t version, uint64_t drain_ms) const;
  int Swap(const std::string& model, const std::string& path, bool allow_tokenizer_change, bool dry_run,
           uint64_t drain_ms) const;
  // `weights`: "1=90", "2=10".
  int Traffic(const std::string& model, const std::vector<std::string>& weights, const std::string& rollback_on,
              uint64_t window_ms) const;
  int RestartGateway() const;
  int Drain(const std::string& model, uint64_t deadline_ms) const;
  // Prints load and memory of each worker every second until an interrupt, or `rounds` times.
  int Top(uint64_t rounds, int interrupts) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace inferd::daemon
