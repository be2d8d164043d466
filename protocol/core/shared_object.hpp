/// Functions of a library that is loaded when it is needed.
#pragma once

#include <dlfcn.h>

namespace chalk {

/// Points `where` at the function `name` of `handle` (dlopen's); clears `complete` when there is none.
template<class Function>
void find_function(void* handle, const char* name, Function& where, bool& complete) {
    where = reinterpret_cast<Function>(::dlsym(handle, name));
    complete = complete && where != nullptr;
}

} // namespace chalk
