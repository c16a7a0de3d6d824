#include "gateway/limits/address_group.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <utility>

namespace inferd::gateway {

namespace {

// gRPC writes "ipv4:10.0.0.1", "ipv6:[::1]" or "ipv6:%5B::1%5D".
std::string_view WithoutFrame(std::string_view host) {
  for (std::string_view scheme : {"ipv4:", "ipv6:"}) {
    if (host.starts_with(scheme)) host.remove_prefix(scheme.size());
  }
  for (const auto& [open, close] : {std::pair<std::string_view, std::string_view>("[", "]"), {"%5B", "%5D"}}) {
    if (!host.starts_with(open) || !host.ends_with(close)) continue;
    host.remove_prefix(open.size());
    host.remove_suffix(close.size());
  }
  return host;
}

}  // namespace

std::string AddressGroup(std::string_view host) {
  boost::system::error_code error;
  const boost::asio::ip::address address = boost::asio::ip::make_address(std::string(WithoutFrame(host)), error);
  if (error) return std::string(host);
  if (address.is_v4()) return address.to_string();
  const boost::asio::ip::address_v6 six = address.to_v6();
  if (six.is_v4_mapped()) return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, six).to_string();
  boost::asio::ip::address_v6::bytes_type bytes = six.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  return boost::asio::ip::address_v6(bytes).to_string() + "/64";
}

}  // namespace inferd::gateway
