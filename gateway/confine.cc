#include "gateway/confine.h"

#include <linux/capability.h>

#include <filesystem>
#include <system_error>

#include "config/base/address.h"
#include "config/base/status.h"
#include "config/sandbox/landlock.h"
#include "config/sandbox/privileges.h"
#include "config/sandbox/user.h"

namespace inferd::gateway {
namespace {

// Also where a link leads.
void AddFolder(const std::string& path, std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  folders.push_back(fs::path(path).parent_path().string());
  std::error_code error;
  if (const fs::path target = fs::canonical(path, error); !error) folders.push_back(target.parent_path().string());
}

// The user may read the keys file, and pass through directories, as root may, where Landlock bounds what is read.
absl::Status ChangeUser(const ConfinementOptions& options, const config::Config& config, int landlock_abi,
                        Confinement& out) {
  if (options.user == 0) return absl::OkStatus();
  if (landlock_abi == 0) {
    const std::string unreadable =
        sandbox::FirstUnreadable(options.user, {config.auth.keys_file, config.run_directory + "/w"});
    if (!unreadable.empty()) {
      out.no_user = fmt::format("user {} cannot read {}, and the kernel has no Landlock", options.user, unreadable);
      return absl::OkStatus();
    }
  }
  return sandbox::BecomeUser(options.user, options.groups);
}

}  // namespace

absl::StatusOr<Confinement> Confine(const ConfinementOptions& options, const config::Config& config) {
  Confinement out;
  RETURN_IF_ERROR(sandbox::HideMemory());
  ASSIGN_OR_RETURN(const int landlock_abi, sandbox::LandlockVersion());
  RETURN_IF_ERROR(ChangeUser(options, config, landlock_abi, out));
  sandbox::Reach reach{.tcp_listen = options.tcp_listen, .tcp_connect = options.tcp_connect};
  AddFolder(config.auth.keys_file, reach.directories);
  for (const Address& address : {config.listen.http, config.listen.grpc}) {
    if (address.is_unix() && options.tcp_listen) AddFolder(address.path, reach.sockets);
  }
  ASSIGN_OR_RETURN(out.landlock_abi, sandbox::LimitReach(reach));
  const bool reads_as_root = options.user != 0 && out.landlock_abi > 0;
  RETURN_IF_ERROR(reads_as_root ? sandbox::DropCapabilities({CAP_DAC_READ_SEARCH}) : sandbox::DropCapabilities({}));
  return out;
}

}  // namespace inferd::gateway
