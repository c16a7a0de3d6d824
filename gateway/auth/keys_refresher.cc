#include "gateway/auth/keys_refresher.h"

#include "gateway/auth/access.h"

namespace inferd::gateway {

KeysRefresher::KeysRefresher(const Executor& executor, Access& access) : access_(access), timer_(executor) {
  Schedule();
}

void KeysRefresher::Schedule() {
  timer_.expires_after(kInterval);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    access_.Refresh();
    Schedule();
  });
}

}  // namespace inferd::gateway
