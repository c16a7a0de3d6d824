#include "gateway/confine.h"

#include <linux/capability.h>

#include "config/base/address.h"
#include "config/base/status.h"
#include "config/sandbox/landlock.h"
#include "config/sandbox/privileges.h"
#include "config/sandbox/user.h"

namespace inferd::gateway {

absl::StatusOr<Confinement> Confine(const ConfinementOptions& options, const config::Config& config) {
  Confinement out;
  RETURN_IF_ERROR(sandbox::HideMemory());
  ASSIGN_OR_RETURN(out.no_user, sandbox::BecomeReader(options.user, options.groups,
                                                      {config.auth.keys_file, config.run_directory + "/w"}));
  sandbox::Reach reach{.tcp_listen = options.tcp_listen, .tcp_connect = options.tcp_connect};
  sandbox::AddFolderOf(config.auth.keys_file, reach.directories);
  for (const Address& address : {config.listen.http, config.listen.grpc}) {
    if (address.is_unix() && options.tcp_listen) sandbox::AddFolderOf(address.path, reach.sockets);
  }
  ASSIGN_OR_RETURN(out.landlock_abi, sandbox::LimitReach(reach));
  const bool reads_as_root = options.user != 0 && out.landlock_abi > 0;
  RETURN_IF_ERROR(reads_as_root ? sandbox::DropCapabilities({CAP_DAC_READ_SEARCH}) : sandbox::DropCapabilities({}));
  return out;
}

}  // namespace inferd::gateway
