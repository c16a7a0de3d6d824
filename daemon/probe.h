// What the supervisor hears from a running child: readiness from its health service, and what a worker says of itself.
//
//   auto probe = ProbeWorker(loop, socket_path, {.on_health = [&](bool serving) { ... },
//                                                .on_report = [&](const WorkerReport& report) { ... }});
//   probe->Ask(1);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/base/address.h"

namespace inferd::daemon {

class EventLoop;

struct WorkerReport {
  // Of the Ask that it answers.
  uint64_t number = 0;
  std::string model;
  uint64_t version = 0;
  // Of weights and tokenizer together, and of the tokenizer alone.
  std::string fingerprint;
  std::string tokenizer_fingerprint;
  // Changes while it computes.
  uint64_t progress = 0;
  // Running and waiting.
  uint32_t requests = 0;
  double load_progress = 0;
  uint64_t resident_bytes = 0;
};

// Called on the loop's thread, and never after the probe is gone.
struct ProbeEvents {
  std::function<void(bool serving)> on_health;
  std::function<void(const WorkerReport&)> on_report;
};

class Probe {
 public:
  virtual ~Probe() = default;
  // Gives one on_report with this number, or nothing if the child does not answer in time.
  virtual void Ask(uint64_t number) = 0;
  // Gives up the stream of health, which would keep a server that drains from ending.
  virtual void StopWatching() = 0;
};

// Connects as soon as the worker listens.
std::unique_ptr<Probe> ProbeWorker(EventLoop& loop, const std::string& socket_path, ProbeEvents events);
// Its address is one that we listen on ourselves and other gateways may serve too: connects until it meets the one
// whose health service knows `health_name`. Ask gives an empty report at once.
std::unique_ptr<Probe> ProbeGateway(EventLoop& loop, const Address& address, const std::string& health_name,
                                    ProbeEvents events);

}  // namespace inferd::daemon
