#include "runtimes/confinement/firewall/nftables.hpp"

#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>

namespace chalk::firewall {

namespace {

/// Netlink messages with nested attributes, one after the other. Lengths are filled in when a part ends.
class batch {
  public:
    template<class Body>
    void message(unsigned type, unsigned flags, std::uint8_t family, std::uint16_t resource, const Body& body) {
        const std::size_t start = out_.size();
        last_ = start;
        nlmsghdr header{};
        header.nlmsg_type = static_cast<std::uint16_t>(type);
        header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
        header.nlmsg_seq = sequence_++;
        put(&header, sizeof header);
        const nfgenmsg generic{family, NFNETLINK_V0, htons(resource)};
        put(&generic, sizeof generic);
        body();
        const auto size = static_cast<std::uint32_t>(out_.size() - start);
        std::memcpy(out_.data() + start, &size, sizeof size);
    }

    void attribute(unsigned type, const void* data, std::size_t size) {
        const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + size), static_cast<std::uint16_t>(type)};
        put(&header, sizeof header);
        put(data, size);
        out_.resize((out_.size() + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO, '\0');
    }
    void text(unsigned type, std::string_view value) {
        const std::string ended(value);
        attribute(type, ended.c_str(), ended.size() + 1);
    }
    void number(unsigned type, std::uint32_t value) {
        const std::uint32_t network_order = htonl(value);
        attribute(type, &network_order, sizeof network_order);
    }
    template<class Body>
    void nested(unsigned type, const Body& body) {
        const std::size_t start = out_.size();
        const nlattr header{0, static_cast<std::uint16_t>(type | NLA_F_NESTED)};
        put(&header, sizeof header);
        body();
        const auto size = static_cast<std::uint16_t>(out_.size() - start);
        std::memcpy(out_.data() + start, &size, sizeof size);
    }
    /// The kernel answers to the message that was put last.
    void ask_for_answer() {
        std::uint16_t flags = 0;
        std::memcpy(&flags, out_.data() + last_ + offsetof(nlmsghdr, nlmsg_flags), sizeof flags);
        flags |= NLM_F_ACK;
        std::memcpy(out_.data() + last_ + offsetof(nlmsghdr, nlmsg_flags), &flags, sizeof flags);
    }
    [[nodiscard]] std::string take() { return std::move(out_); }

  private:
    void put(const void* data, std::size_t size) { out_.append(static_cast<const char*>(data), size); }

    std::string out_;
    std::size_t last_ = 0;
    std::uint32_t sequence_ = 0;
};

constexpr std::string_view base_chain = "output";
constexpr std::string_view student_chain = "student";

constexpr unsigned nft(unsigned type) {
    return NFNL_SUBSYS_NFTABLES << 8U | type;
}

/// One rule's expressions: each loads something into register 1 and compares it, the last one gives the verdict.
class expressions {
  public:
    explicit expressions(batch& out) : out_(out) {}

    template<class Body>
    void expression(std::string_view name, const Body& body) {
        out_.nested(NFTA_LIST_ELEM, [&] {
            out_.text(NFTA_EXPR_NAME, name);
            out_.nested(NFTA_EXPR_DATA, body);
        });
    }
    void load(nft_meta_keys key) {
        expression("meta", [&] {
            out_.number(NFTA_META_KEY, key);
            out_.number(NFTA_META_DREG, NFT_REG_1);
        });
    }
    void load(nft_payload_bases base, unsigned offset, unsigned size) {
        expression("payload", [&] {
            out_.number(NFTA_PAYLOAD_DREG, NFT_REG_1);
            out_.number(NFTA_PAYLOAD_BASE, base);
            out_.number(NFTA_PAYLOAD_OFFSET, offset);
            out_.number(NFTA_PAYLOAD_LEN, size);
        });
    }
    void is(const void* value, std::size_t size) {
        expression("cmp", [&] {
            out_.number(NFTA_CMP_SREG, NFT_REG_1);
            out_.number(NFTA_CMP_OP, NFT_CMP_EQ);
            out_.nested(NFTA_CMP_DATA, [&] { out_.attribute(NFTA_DATA_VALUE, value, size); });
        });
    }
    void is_byte(unsigned value) {
        const auto byte = static_cast<std::uint8_t>(value);
        is(&byte, sizeof byte);
    }
    void keep(const std::vector<std::uint8_t>& mask) {
        const std::vector<std::uint8_t> nothing(mask.size(), 0);
        expression("bitwise", [&] {
            out_.number(NFTA_BITWISE_SREG, NFT_REG_1);
            out_.number(NFTA_BITWISE_DREG, NFT_REG_1);
            out_.number(NFTA_BITWISE_LEN, static_cast<std::uint32_t>(mask.size()));
            out_.nested(NFTA_BITWISE_MASK, [&] { out_.attribute(NFTA_DATA_VALUE, mask.data(), mask.size()); });
            out_.nested(NFTA_BITWISE_XOR, [&] { out_.attribute(NFTA_DATA_VALUE, nothing.data(), nothing.size()); });
        });
    }
    void verdict(int code, std::string_view chain = {}) {
        expression("immediate", [&] {
            out_.number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
            out_.nested(NFTA_IMMEDIATE_DATA, [&] {
                out_.nested(NFTA_DATA_VERDICT, [&] {
                    out_.number(NFTA_VERDICT_CODE, static_cast<std::uint32_t>(code));
                    if (!chain.empty()) {
                        out_.text(NFTA_VERDICT_CHAIN, chain);
                    }
                });
            });
        });
    }
    void reject(nft_reject_types type, std::uint8_t code) {
        expression("reject", [&] {
            out_.number(NFTA_REJECT_TYPE, type);
            out_.attribute(NFTA_REJECT_ICMP_CODE, &code, sizeof code);
        });
    }

  private:
    batch& out_;
};

void match(expressions& put, const ip_network& network) {
    put.load(NFT_META_NFPROTO);
    put.is_byte(network.v6 ? static_cast<unsigned>(NFPROTO_IPV6) : static_cast<unsigned>(NFPROTO_IPV4));
    const unsigned size = network.v6 ? 16 : 4;
    const unsigned place = network.v6 ? 24 : 16; // of the destination in the header (RFC 8200, 3; RFC 791, 3.1)
    put.load(NFT_PAYLOAD_NETWORK_HEADER, place, size);
    std::vector<std::uint8_t> mask(size, 0);
    for (unsigned bit = 0; bit < network.prefix; ++bit) {
        mask[bit / 8] = static_cast<std::uint8_t>(mask[bit / 8] | 0x80U >> bit % 8);
    }
    put.keep(mask);
    put.is(network.address.data(), size);
}

void fill(expressions& put, const rule& what) {
    if (what.over_loopback) {
        char name[16] = "lo"; // an interface's name is compared with its padding (IFNAMSIZ)
        put.load(NFT_META_OIFNAME);
        put.is(name, sizeof name);
    }
    if (what.to) {
        match(put, *what.to);
    }
    if (what.tcp_port) {
        put.load(NFT_META_L4PROTO);
        put.is_byte(IPPROTO_TCP);
        const std::uint16_t port = htons(*what.tcp_port);
        put.load(NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof port);
        put.is(&port, sizeof port);
    }
    if (what.what == rule::verdict::accept) {
        put.verdict(NF_ACCEPT);
    } else if (what.tcp_port) {
        put.reject(NFT_REJECT_TCP_RST, 0);
    } else {
        put.reject(NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
    }
}

template<class Body>
void transaction(batch& out, const Body& body) {
    out.message(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES, [] {});
    body();
    out.ask_for_answer();
    out.message(NFNL_MSG_BATCH_END, 0, AF_UNSPEC, NFNL_SUBSYS_NFTABLES, [] {});
}

void table_message(batch& out, unsigned type, unsigned flags, std::string_view table) {
    out.message(nft(type), flags, NFPROTO_INET, 0, [&] { out.text(NFTA_TABLE_NAME, table); });
}

} // namespace

std::string nft_batch(const std::vector<rule>& rules, uid_t student, std::string_view table) {
    batch out;
    const auto chain = [&](std::string_view name, bool base) {
        out.message(nft(NFT_MSG_NEWCHAIN), NLM_F_CREATE, NFPROTO_INET, 0, [&] {
            out.text(NFTA_CHAIN_TABLE, table);
            out.text(NFTA_CHAIN_NAME, name);
            if (base) {
                out.nested(NFTA_CHAIN_HOOK, [&] {
                    out.number(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
                    out.number(NFTA_HOOK_PRIORITY, 0);
                });
                out.number(NFTA_CHAIN_POLICY, NF_ACCEPT);
                out.text(NFTA_CHAIN_TYPE, "filter");
            }
        });
    };
    const auto add = [&](std::string_view where, const auto& body) {
        out.message(nft(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND, NFPROTO_INET, 0, [&] {
            out.text(NFTA_RULE_TABLE, table);
            out.text(NFTA_RULE_CHAIN, where);
            out.nested(NFTA_RULE_EXPRESSIONS, [&] {
                expressions put(out);
                body(put);
            });
        });
    };
    transaction(out, [&] {
        // Without the usual "make, delete, make", which would replace an older one: a deletion waits for the kernel's
        // readers, 10 ms and more, where the rest takes 0.2.
        table_message(out, NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL, table);
        chain(student_chain, false);
        chain(base_chain, true);
        for (const rule& one : rules) {
            add(student_chain, [&](expressions& put) { fill(put, one); });
        }
        // Last in the batch, and alone in its chain: packets of other users meet one comparison.
        add(base_chain, [&](expressions& put) {
            put.load(NFT_META_SKUID);
            put.is(&student, sizeof student);
            put.verdict(NFT_JUMP, student_chain);
        });
    });
    return out.take();
}

std::string nft_removal(std::string_view table) {
    batch out;
    transaction(out, [&] { table_message(out, NFT_MSG_DELTABLE, 0, table); });
    return out.take();
}

} // namespace chalk::firewall
