// Boost.Asio's and Boost.Beast's own sources, compiled once (BOOST_ASIO_SEPARATE_COMPILATION, see cmake/ChalkSettings).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
