// The LIBSVM parser for Python: LibsvmParser32 and LibsvmParser64.
//
// Private to budgetron.streams.libsvm, which adds files, decompression and error types. The GIL is
// released while text is parsed (a lock protects a parser that two threads share), and rows are
// returned as NumPy arrays that own their memory: vectors are moved, never copied.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "io/libsvm_parser.hpp"
#include "module.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class Real>
class Parser {
 public:
  Parser(bool skip_bad, std::int64_t max_index, std::size_t max_line, std::size_t keep,
         std::uint64_t line, std::int64_t largest, bool gaps)
      : parser_({skip_bad, max_index, max_line, keep, line, largest, gaps}) {}

  std::size_t feed(const nb::bytes& data, std::size_t start, std::size_t max_rows) {
    const std::string_view text(data.c_str(), data.size());
    if (start > text.size()) throw std::out_of_range("start is beyond the end of the data");
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    return start + parser_.feed(text.substr(start), max_rows);
  }

  void finish() {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    parser_.finish();
  }

  nb::tuple take() {
    auto rows = with([](auto& parser) { return parser.take(); });
    return nb::make_tuple(to_numpy(std::move(rows.labels)), to_numpy(std::move(rows.indptr)),
                          to_numpy(std::move(rows.indices)), to_numpy(std::move(rows.values)),
                          to_numpy(std::move(rows.passed)));
  }

  // Calls `call` with the locked parser. The GIL is released while waiting; otherwise the thread
  // that holds the lock could not finish.
  template <class Call>
  auto with(Call call) {
    const nb::gil_scoped_release released;
    const std::lock_guard lock(mutex_);
    return call(parser_);
  }

 private:
  std::mutex mutex_;
  budgetron::LibsvmParser<Real> parser_;
};

template <class Real>
void bind_parser(nb::module_& m, const char* name) {
  using P = Parser<Real>;
  const budgetron::LibsvmOptions defaults;
  nb::class_<P>(m, name, "A streaming parser of LIBSVM text; see core/io/libsvm_parser.hpp.")
      .def(nb::init<bool, std::int64_t, std::size_t, std::size_t, std::uint64_t, std::int64_t,
                    bool>(),
           nb::kw_only(), "skip_bad"_a = defaults.skip_bad, "max_index"_a = defaults.max_index,
           "max_line"_a = defaults.max_line, "keep"_a = defaults.keep, "line"_a = defaults.line,
           "largest"_a = defaults.largest, "gaps"_a = defaults.gaps)
      .def("feed", &P::feed, "data"_a, "start"_a, "max_rows"_a,
           "Parse data[start:] until it ends, max_rows rows are ready, or a bad line stops the "
           "parser; return where in data it stopped.")
      .def("finish", &P::finish, "Count an unfinished last line as a line.")
      .def("take", &P::take,
           "The rows that are ready: labels, indptr, indices (from 0), values; and where bad lines "
           "were skipped, as pairs of (rows before them, number of bad lines).")
      .def(
          "discard", [](P& p) { p.with([](auto& parser) { parser.discard(); }); },
          "Drop the rows that are ready.")
      .def_prop_ro("rows", [](P& p) { return p.with([](auto& q) { return q.rows(); }); })
      .def_prop_ro("lines", [](P& p) { return p.with([](auto& q) { return q.lines(); }); })
      .def_prop_ro("bytes", [](P& p) { return p.with([](auto& q) { return q.bytes(); }); })
      .def_prop_ro("resume", [](P& p) { return p.with([](auto& q) { return q.resume(); }); })
      .def_prop_ro("max_index", [](P& p) { return p.with([](auto& q) { return q.max_index(); }); })
      .def_prop_ro("n_bad", [](P& p) { return p.with([](auto& q) { return q.n_bad(); }); })
      .def_prop_ro("failed", [](P& p) { return p.with([](auto& q) { return q.failed(); }); })
      .def_prop_ro("bad", [](P& p) {
        return p.with([](auto& q) {
          std::vector<std::pair<std::uint64_t, std::string>> lines;
          for (const auto& bad : q.bad()) lines.emplace_back(bad.line, bad.what);
          return lines;
        });
      });
}

}  // namespace

void bind_libsvm(nb::module_& m) {
  bind_parser<float>(m, "LibsvmParser32");
  bind_parser<double>(m, "LibsvmParser64");
}
