// Whom an address stands for where clients are counted by it: of IPv6 the /64, which is what one client is given.
//
//   AddressGroup("2001:db8::17")   // "2001:db8::/64"
//   AddressGroup("ipv4:10.0.0.1")  // "10.0.0.1", as gRPC writes it
#pragma once

#include <string>
#include <string_view>

namespace inferd::gateway {

// What is no address (a unix socket) stays as it is.
std::string AddressGroup(std::string_view host);

}  // namespace inferd::gateway
