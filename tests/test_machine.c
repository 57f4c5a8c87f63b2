/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of control groups, read from made-up /proc and /sys trees. */
#include "base/directory.h"
#include "base/files.h"
#include "base/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char root[] = "/tmp/weir-machine-XXXXXX";

static void put(const char *path, const char *text) {
  char name[256], folder[256];
  snprintf(name, sizeof name, "%s%s", root, path);
  snprintf(folder, sizeof folder, "%s", name);
  *strrchr(folder, '/') = '\0';
  assert_int_equal(weir_directory_make(folder), WEIR_OK);
  assert_int_equal(weir_file_replace(name, text, strlen(text)), WEIR_OK);
}

static int open_root(void **state) {
  (void)state;
  strcpy(root + strlen(root) - 6, "XXXXXX");
  if (!mkdtemp(root)) return -1;
  put("/proc/meminfo", "MemTotal:       1000000 kB\nMemFree: 1 kB\nMemAvailable:   400000 kB\n");
  put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n");
  return 0;
}

static int remove_root(void **state) {
  (void)state;
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", root);
  return system(command);
}

static void test_no_groups(void **state) {
  (void)state;
  weir_machine machine;
  weir_machine_read(&machine, root);
  assert_string_equal(machine.processor, "Some CPU @ 2 GHz");
  assert_int_equal(machine.total_bytes, 1000000ull * 1024);
  assert_true(machine.limit_bytes == WEIR_NO_LIMIT);
  assert_int_equal(weir_machine_free_bytes(&machine), 400000ull * 1024);
  assert_true(machine.n_cores >= 1);
  assert_int_equal(weir_machine_n_threads(&machine), machine.n_cores);
}

/* The group above the process's own has the lower limit. */
static void test_version_2(void **state) {
  (void)state;
  put("/proc/self/cgroup", "0::/outer/inner\n");
  put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  put("/sys/fs/cgroup/outer/memory.max", "500000000\n");
  put("/sys/fs/cgroup/outer/memory.current", "200000000\n");
  put("/sys/fs/cgroup/outer/inner/cpu.max", "50000 100000\n");
  put("/sys/fs/cgroup/outer/cpu.max", "max 100000\n");
  weir_machine machine;
  weir_machine_read(&machine, root);
  assert_int_equal(machine.limit_bytes, 500000000);
  assert_int_equal(weir_machine_free_bytes(&machine), 300000000);
  assert_true(machine.cpu_limit == 0.5);
  assert_int_equal(weir_machine_n_threads(&machine), 1);
}

static void test_version_1(void **state) {
  (void)state;
  put("/proc/self/cgroup", "4:memory:/mine\n1:cpu,cpuacct:/mine\n0::/\n");
  put("/sys/fs/cgroup/memory/mine/memory.limit_in_bytes", "300000000\n");
  put("/sys/fs/cgroup/memory/mine/memory.usage_in_bytes", "300000001\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/cpu/mine/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu/mine/cpu.cfs_period_us", "100000\n");
  weir_machine machine;
  weir_machine_read(&machine, root);
  assert_int_equal(machine.limit_bytes, 300000000);
  assert_int_equal(weir_machine_free_bytes(&machine), 0);
  assert_true(machine.cpu_limit == 0);
}

static void test_unlimited_version_1(void **state) {
  (void)state;
  put("/proc/self/cgroup", "4:memory:/\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  weir_machine machine;
  weir_machine_read(&machine, root);
  assert_true(machine.limit_bytes == WEIR_NO_LIMIT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_no_groups, open_root, remove_root),
      cmocka_unit_test_setup_teardown(test_version_2, open_root, remove_root),
      cmocka_unit_test_setup_teardown(test_version_1, open_root, remove_root),
      cmocka_unit_test_setup_teardown(test_unlimited_version_1, open_root, remove_root),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
