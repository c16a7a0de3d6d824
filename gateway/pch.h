// Precompiled for the gateway's library: the libraries that nearly every file here includes.
#include <grpcpp/grpcpp.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/json.hpp>

#include "inferd/v1/admin.grpc.pb.h"
#include "inferd/v1/inference.grpc.pb.h"
#include "inferd/v1/worker.grpc.pb.h"
