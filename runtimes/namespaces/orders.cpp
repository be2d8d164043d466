#include "runtimes/namespaces/orders.hpp"

#include <cstring>

namespace chalk::namespaces {

namespace {

/// Puts fields one after the other; integers in this machine's order, since both ends are on it.
class writer {
  public:
    template<class Integer>
    void put_number(Integer value) {
        char raw[sizeof value];
        std::memcpy(raw, &value, sizeof value);
        out_.append(raw, sizeof value);
    }
    void put(bool value) { put_number<std::uint8_t>(value ? 1 : 0); }
    void put(std::uint32_t value) { put_number(value); }
    void put(std::int32_t value) { put_number(value); }
    void put(std::uint64_t value) { put_number(value); }
    void put(const std::string& text) {
        put_number(static_cast<std::uint32_t>(text.size()));
        out_ += text;
    }
    void put(const tree& what) {
        put(what.source);
        put(what.flags);
    }
    void put(const step& what) {
        put(static_cast<std::uint32_t>(what.what));
        put(what.path);
        put(what.options);
        put(what.number);
        put(what.owner);
    }
    template<class T>
    void put(const std::vector<T>& list) {
        put_number(static_cast<std::uint32_t>(list.size()));
        for (const T& element : list) {
            put(element);
        }
    }
    [[nodiscard]] std::string take() { return std::move(out_); }

  private:
    std::string out_;
};

/// The mirror of writer; once something does not fit, everything after it reads as empty and ok() is false.
class reader {
  public:
    explicit reader(std::string_view packet) : rest_(packet) {}

    template<class Integer>
    void get_number(Integer& value) {
        if (rest_.size() < sizeof value) {
            fail();
            return;
        }
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_.remove_prefix(sizeof value);
    }
    void get(bool& value) {
        std::uint8_t raw = 0;
        get_number(raw);
        value = raw != 0;
    }
    void get(std::uint32_t& value) { get_number(value); }
    void get(std::int32_t& value) { get_number(value); }
    void get(std::uint64_t& value) { get_number(value); }
    void get(std::string& text) {
        std::uint32_t size = 0;
        get_number(size);
        if (rest_.size() < size) {
            fail();
            return;
        }
        text.assign(rest_.substr(0, size));
        rest_.remove_prefix(size);
    }
    void get(tree& what) {
        get(what.source);
        get(what.flags);
    }
    void get(step& what) {
        std::uint32_t kind = 0;
        get(kind);
        if (kind > static_cast<std::uint32_t>(step::kind::enter)) {
            fail();
        }
        what.what = static_cast<step::kind>(kind);
        get(what.path);
        get(what.options);
        get(what.number);
        get(what.owner);
    }
    template<class T>
    void get(std::vector<T>& list) {
        std::uint32_t count = 0;
        get_number(count);
        for (std::uint32_t i = 0; i < count && ok_; ++i) {
            get(list.emplace_back());
        }
    }
    void fail() {
        ok_ = false;
        rest_ = {};
    }
    [[nodiscard]] bool complete() const { return ok_ && rest_.empty(); }

  private:
    std::string_view rest_;
    bool ok_ = true;
};

template<class Coder, class Orders>
void nest_fields(Coder&& code, Orders& orders) {
    code(orders.folder);
    code(orders.first_id);
    code(orders.id_count);
    code(orders.privileged);
    code(orders.init_program);
    code(orders.newuidmap);
    code(orders.newgidmap);
    code(orders.remove_at_end);
}

template<class Coder, class Orders>
void sandbox_fields(Coder&& code, Orders& orders) {
    code(orders.hostname);
    code(orders.trees);
    code(orders.steps);
    code(orders.argv);
    code(orders.environment);
    code(orders.copy);
    code(orders.inherited);
    code(orders.joined);
    code(orders.into_cgroup);
    code(orders.process_limit);
    code(orders.firewall);
}

} // namespace

std::string encode(const nest_orders& orders) {
    writer out;
    nest_fields([&](const auto& field) { out.put(field); }, orders);
    return out.take();
}

std::string encode(const sandbox_orders& orders) {
    writer out;
    sandbox_fields([&](const auto& field) { out.put(field); }, orders);
    return out.take();
}

std::string encode(const sandbox_report& report) {
    writer out;
    out.put(static_cast<std::uint32_t>(report.what));
    out.put(report.status);
    out.put(report.pid);
    out.put(report.text);
    return out.take();
}

std::optional<nest_orders> decode_nest_orders(std::string_view packet) {
    reader in(packet);
    nest_orders orders;
    nest_fields([&](auto& field) { in.get(field); }, orders);
    return in.complete() ? std::optional(std::move(orders)) : std::nullopt;
}

std::optional<sandbox_orders> decode_sandbox_orders(std::string_view packet) {
    reader in(packet);
    sandbox_orders orders;
    sandbox_fields([&](auto& field) { in.get(field); }, orders);
    return in.complete() ? std::optional(std::move(orders)) : std::nullopt;
}

std::optional<sandbox_report> decode_sandbox_report(std::string_view packet) {
    reader in(packet);
    std::uint32_t kind = 0;
    sandbox_report report;
    in.get(kind);
    in.get(report.status);
    in.get(report.pid);
    in.get(report.text);
    if (!in.complete() || kind > static_cast<std::uint32_t>(sandbox_report::kind::gone)) {
        return std::nullopt;
    }
    report.what = static_cast<sandbox_report::kind>(kind);
    return report;
}

} // namespace chalk::namespaces
