#include "runtimes/confinement/firewall/iptables.hpp"

#include "protocol/core/unique_fd.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <netinet/in.h>
// It knows no C++, and needs what the headers above bring.
#include <linux/netfilter/xt_owner.h>
#include <linux/netfilter/xt_tcpudp.h>
#include <sys/socket.h>

namespace chalk::firewall {

namespace {

struct family4 {
    using entry = ipt_entry;
    using replacement = ipt_replace;
    using information = ipt_getinfo;
    static constexpr bool v6 = false;
    static constexpr int domain = AF_INET;
    static constexpr int level = IPPROTO_IP;
    static constexpr int get_info = IPT_SO_GET_INFO;
    static constexpr int replace = IPT_SO_SET_REPLACE;
    static auto& header(entry& e) { return e.ip; }
    static void expect_protocol(entry& e) { e.ip.proto = IPPROTO_TCP; }
    static void to(entry& e, const ip_network& where) {
        std::memcpy(&e.ip.dst, where.address.data(), sizeof e.ip.dst);
        e.ip.dmsk.s_addr = htonl(where.prefix == 0 ? 0 : ~0U << (32U - where.prefix));
    }
};

struct family6 {
    using entry = ip6t_entry;
    using replacement = ip6t_replace;
    using information = ip6t_getinfo;
    static constexpr bool v6 = true;
    static constexpr int domain = AF_INET6;
    static constexpr int level = IPPROTO_IPV6;
    static constexpr int get_info = IP6T_SO_GET_INFO;
    static constexpr int replace = IP6T_SO_SET_REPLACE;
    static auto& header(entry& e) { return e.ipv6; }
    static void expect_protocol(entry& e) {
        e.ipv6.proto = IPPROTO_TCP;
        e.ipv6.flags = IP6T_F_PROTO;
    }
    static void to(entry& e, const ip_network& where) {
        std::memcpy(&e.ipv6.dst, where.address.data(), sizeof e.ipv6.dst);
        for (unsigned bit = 0; bit < where.prefix; ++bit) {
            auto& byte = e.ipv6.dmsk.s6_addr[bit / 8];
            byte = static_cast<std::uint8_t>(byte | 0x80U >> bit % 8);
        }
    }
};

constexpr std::size_t aligned(std::size_t size) {
    return (size + alignof(_xt_align) - 1) / alignof(_xt_align) * alignof(_xt_align);
}

constexpr int accept_verdict = -NF_ACCEPT - 1;
constexpr int drop_verdict = -NF_DROP - 1;

template<class Family>
class table_writer {
  public:
    /// Starts an entry; matches and one target follow.
    typename Family::entry begin() {
        typename Family::entry made{};
        start_ = table_.entries.size();
        table_.entries.append(aligned(sizeof made), '\0');
        return made;
    }
    template<class Match>
    void match(const char* name, std::uint8_t revision, const Match& what) {
        xt_entry_match header{};
        const std::size_t size = aligned(sizeof header + sizeof what);
        header.u.user.match_size = static_cast<std::uint16_t>(size);
        header.u.user.revision = revision;
        std::strcpy(header.u.user.name, name);
        put(header, what, size);
    }
    void end(typename Family::entry made, int verdict) {
        finish(made);
        xt_entry_target header{};
        const std::size_t size = aligned(sizeof header + sizeof verdict);
        header.u.user.target_size = static_cast<std::uint16_t>(size);
        put(header, verdict, size);
        close(made);
    }
    void end_table() {
        auto made = begin();
        finish(made);
        xt_entry_target header{};
        char name[XT_FUNCTION_MAXNAMELEN] = XT_ERROR_TARGET;
        const std::size_t size = aligned(sizeof header + sizeof name);
        header.u.user.target_size = static_cast<std::uint16_t>(size);
        std::strcpy(header.u.user.name, XT_ERROR_TARGET);
        put(header, name, size);
        close(made);
    }
    [[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(table_.entries.size()); }
    [[nodiscard]] legacy_table& table() { return table_; }

  private:
    template<class Header, class Body>
    void put(const Header& header, const Body& body, std::size_t size) {
        std::string part(size, '\0');
        std::memcpy(part.data(), &header, sizeof header);
        std::memcpy(part.data() + sizeof header, &body, sizeof body);
        table_.entries += part;
    }
    void finish(typename Family::entry& made) {
        made.target_offset = static_cast<std::uint16_t>(table_.entries.size() - start_);
    }
    void close(typename Family::entry& made) {
        made.next_offset = static_cast<std::uint16_t>(table_.entries.size() - start_);
        std::memcpy(table_.entries.data() + start_, &made, sizeof made);
        ++table_.count;
    }

    legacy_table table_;
    std::size_t start_ = 0;
};

template<class Family>
void put_rule(table_writer<Family>& out, const rule& what, uid_t student) {
    auto entry = out.begin();
    if (what.over_loopback) {
        auto& header = Family::header(entry);
        std::strcpy(header.outiface, "lo");
        std::memset(header.outiface_mask, 0xFF, sizeof "lo"); // with its end, or "lo2" would do
    }
    if (what.to) {
        Family::to(entry, *what.to);
    }
    xt_owner_match_info owner{};
    owner.uid_min = student;
    owner.uid_max = student;
    owner.match = XT_OWNER_UID;
    if (what.tcp_port) {
        Family::expect_protocol(entry);
        xt_tcp tcp{};
        tcp.spts[1] = 0xFFFF;
        tcp.dpts[0] = *what.tcp_port;
        tcp.dpts[1] = *what.tcp_port;
        out.match("tcp", 0, tcp);
    }
    out.match("owner", 1, owner);
    out.end(entry, what.what == rule::verdict::accept ? accept_verdict : drop_verdict);
}

template<class Family>
legacy_table make_table(const std::vector<rule>& rules, uid_t student) {
    table_writer<Family> out;
    for (std::size_t hook = 0; hook < 3; ++hook) { // input, forward, output
        out.table().first_rule[hook] = out.here();
        for (const rule& one : rules) {
            if (hook == 2 && (!one.to || one.to->v6 == Family::v6)) {
                put_rule(out, one, student);
            }
        }
        out.table().policy[hook] = out.here();
        out.end(out.begin(), accept_verdict);
    }
    out.end_table();
    return std::move(out.table());
}

constexpr std::uint32_t entries_of_empty_table = 4; // three policies and the end

/// `only_empty`: somebody's rules are not replaced.
template<class Family>
int set_table(const std::vector<rule>& rules, uid_t student, bool only_empty) {
    const unique_fd socket(::socket(Family::domain, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
    typename Family::information now{};
    socklen_t size = sizeof now;
    std::strcpy(now.name, "filter");
    if (!socket || ::getsockopt(socket.get(), Family::level, Family::get_info, &now, &size) != 0) {
        return errno;
    }
    if (only_empty && now.num_entries > entries_of_empty_table) {
        return EEXIST;
    }
    const legacy_table table = make_table<Family>(rules, student);
    std::vector<xt_counters> counters(now.num_entries);
    typename Family::replacement head{};
    std::strcpy(head.name, "filter");
    head.valid_hooks = now.valid_hooks;
    head.num_entries = table.count;
    head.size = static_cast<unsigned>(table.entries.size());
    const unsigned hooks[] = {NF_INET_LOCAL_IN, NF_INET_FORWARD, NF_INET_LOCAL_OUT};
    for (std::size_t i = 0; i < 3; ++i) {
        head.hook_entry[hooks[i]] = table.first_rule[i];
        head.underflow[hooks[i]] = table.policy[i];
    }
    head.num_counters = now.num_entries;
    head.counters = counters.data();
    std::string option(reinterpret_cast<const char*>(&head), sizeof head);
    option += table.entries;
    return ::setsockopt(socket.get(), Family::level, Family::replace, option.data(),
                        static_cast<socklen_t>(option.size())) == 0
               ? 0
               : errno;
}

int set_both(const std::vector<rule>& rules, uid_t student, bool only_empty) noexcept {
    if (const int failed = set_table<family4>(rules, student, only_empty); failed != 0) {
        return failed;
    }
    const int failed = set_table<family6>(rules, student, only_empty);
    return failed == EAFNOSUPPORT ? 0 : failed;
}

} // namespace

legacy_table make_legacy_table(const std::vector<rule>& rules, uid_t student, bool v6) {
    return v6 ? make_table<family6>(rules, student) : make_table<family4>(rules, student);
}

int set_legacy_rules(const std::vector<rule>& rules, uid_t student) noexcept {
    return set_both(rules, student, true);
}

int clear_legacy_rules() noexcept {
    return set_both({}, 0, false);
}

} // namespace chalk::firewall
