// Which worker answers for a model name: one snapshot of the supervisor's routes, never changed after it is made.
//
//   RouteTable table(snapshot);
//   const ModelRoute* route = table.Find("chat");               // by name or alias
//   const VersionRoute* version = PickVersion(*route, sticky);  // null: none is ready
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inferd::v1 {
class RouteSnapshot;
}

namespace inferd::gateway {

struct VersionRoute {
  uint64_t version = 0;
  // gRPC target.
  std::string address;
  // Share of the requests, relative to the other versions; 0: none.
  uint32_t weight = 0;
  // As the supervisor names them: STARTING, LOADING, VERIFYING, READY, DRAINING, STOPPED, CRASHED, BACKOFF, FAILED,
  // UNLOADED.
  std::string state;
  std::string fingerprint;
  int64_t updated_unix_seconds = 0;
  std::string last_error;

  bool ready() const { return state == "READY"; }
  // Will be ready without an operator's help.
  bool coming() const {
    return state == "STARTING" || state == "LOADING" || state == "VERIFYING" || state == "CRASHED" ||
           state == "BACKOFF";
  }
  // Will be ready when the supervisor is asked for it.
  bool unloaded() const { return state == "UNLOADED"; }
};

struct ModelRoute {
  std::string model;
  std::vector<std::string> aliases;
  std::vector<VersionRoute> versions;
  // Counts for /ready.
  bool expected = false;
  // Loaded when requests need it: they wait as long as that may take.
  bool on_demand = false;

  const VersionRoute* FindVersion(uint64_t version) const;
  // A ready version of positive weight exists.
  bool serving() const;
  // Not serving, but a version will be.
  bool coming() const;
  // An unloaded version of positive weight exists.
  bool loadable() const;
  // A request now is answered, be it after a wait for the model to be loaded.
  bool available() const { return serving() || loadable() || (on_demand && coming()); }
  // "READY", else the state of the version that is nearest to it.
  std::string_view state() const;
};

class RouteTable {
 public:
  // Knows no model.
  RouteTable() = default;
  explicit RouteTable(const v1::RouteSnapshot& snapshot);

  const ModelRoute* Find(std::string_view name_or_alias) const;
  const std::vector<ModelRoute>& models() const { return models_; }
  uint64_t revision() const { return revision_; }

 private:
  uint64_t revision_ = 0;
  std::vector<ModelRoute> models_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

// A ready version, drawn by weight: the same `sticky` gives the same version as long as versions and weights stay.
// Null if no version of positive weight is ready.
const VersionRoute* PickVersion(const ModelRoute& route, uint64_t sticky);

// Spreads the text evenly over 64 bits (FNV-1a with a finalizer), the same in every process.
uint64_t StickyHash(std::string_view text);

}  // namespace inferd::gateway
