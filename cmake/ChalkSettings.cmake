# chalk_settings: the compiler and linker settings that every target of ours shares.
add_library(chalk_settings INTERFACE)
# In a batch of sources a local name may be that of another source's type, and which ones share a batch is chance.
target_compile_options(chalk_settings INTERFACE -Wall -Wextra -Wpedantic -Wconversion
  $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,-Wshadow=local,-Wshadow>)
if(CHALK_WERROR)
  target_compile_options(chalk_settings INTERFACE -Werror)
endif()
target_compile_definitions(chalk_settings INTERFACE
  CHALK_VERSION="${PROJECT_VERSION}"
  # Our services run on one Asio thread; the rest of Boost.Asio's deprecated names stay out of reach.
  BOOST_ASIO_NO_DEPRECATED
  # Asio and Beast compile once, in protocol/net/boost_sources.cpp, and not in each source that includes them.
  BOOST_ASIO_SEPARATE_COMPILATION
  BOOST_BEAST_SEPARATE_COMPILATION)

# What the build makes for the machine it runs on: no PIE, which start-up time pays for (docs/development.md).
add_compile_options(-fno-pie)
add_link_options(-no-pie)

find_program(CHALK_LLD ld.lld)
if(CHALK_LLD)
  add_link_options(-fuse-ld=lld)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_link_options(-Wl,--gc-sections -Wl,--as-needed -Wl,-O1 -Wl,-z,lazy)
  add_compile_options(-ffunction-sections -fdata-sections)
endif()

if(CHALK_SANITIZERS)
  add_compile_options(-fsanitize=${CHALK_SANITIZERS} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CHALK_SANITIZERS})
  # No optimisation: under sanitizers -O1 doubles the time to compile. UBSan's checks of each pointer go, since ASan sees
  # what they would find and they take half of the rest.
  add_compile_options(-O0 -g1)
  if(CHALK_SANITIZERS MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,alignment,object-size,vptr)
  endif()
  if(CHALK_SANITIZERS MATCHES "thread")
    # Asio's fences, which TSan does not model, guard nothing that its mutexes do not guard too.
    add_compile_options(-Wno-tsan)
  endif()
  # Not _GLIBCXX_ASSERTIONS: CAF 0.17's headers dereference an empty shared_ptr<tuple<>> for messages without fields.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 warns of libstdc++'s own code under sanitizers (gcc bug 105562); release builds keep the warning.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()
