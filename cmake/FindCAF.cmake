# Finds CAF 0.17 as Debian's libcaf-dev lays it out (it ships no CMake package).
# Components: core, io, openssl. Targets: CAF::core, CAF::io, CAF::openssl.
find_package(Threads REQUIRED)
find_path(CAF_INCLUDE_DIR caf/all.hpp)
set(_caf_required CAF_INCLUDE_DIR)

if(CAF_INCLUDE_DIR AND EXISTS "${CAF_INCLUDE_DIR}/caf/config.hpp")
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" _caf_version REGEX "#define CAF_VERSION [0-9]+")
  if(_caf_version MATCHES "CAF_VERSION ([0-9]+)")
    math(EXPR _caf_major "${CMAKE_MATCH_1} / 10000")
    math(EXPR _caf_minor "(${CMAKE_MATCH_1} / 100) % 100")
    math(EXPR _caf_patch "${CMAKE_MATCH_1} % 100")
    set(CAF_VERSION "${_caf_major}.${_caf_minor}.${_caf_patch}")
  endif()
endif()

foreach(_component IN LISTS CAF_FIND_COMPONENTS)
  find_library(CAF_${_component}_LIBRARY caf_${_component})
  list(APPEND _caf_required CAF_${_component}_LIBRARY)
  if(CAF_${_component}_LIBRARY AND NOT TARGET CAF::${_component})
    add_library(CAF::${_component} UNKNOWN IMPORTED)
    set_target_properties(CAF::${_component} PROPERTIES
      IMPORTED_LOCATION "${CAF_${_component}_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}")
    if(_component STREQUAL "core")
      target_link_libraries(CAF::core INTERFACE Threads::Threads)
    elseif(_component STREQUAL "io")
      target_link_libraries(CAF::io INTERFACE CAF::core)
    elseif(_component STREQUAL "openssl")
      find_package(OpenSSL REQUIRED)
      target_link_libraries(CAF::openssl INTERFACE CAF::io OpenSSL::SSL)
    endif()
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF REQUIRED_VARS ${_caf_required} VERSION_VAR CAF_VERSION)
