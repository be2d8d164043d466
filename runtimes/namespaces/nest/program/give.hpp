/// Changes owners, or deletes, where the one who started us may not but the sandboxes' ids may: without root, files
/// that are root's inside a sandbox belong to an id of /etc/subuid outside.
#pragma once

namespace chalk::nest {

/// argv: FIRST COUNT NEWUIDMAP NEWGIDMAP give TREE STUDENT_FOLDER... | take TREE | remove TREE. Exit code 0: done; else
/// stderr says what failed.
int run_give(int argc, char** argv);

} // namespace chalk::nest
