/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan too large for the machine is refused before a page of it is touched. */
#include "cli/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void what_the_machine_lacks_is_not_reserved(void **state) {
  (void)state;
  weir_session session = {0};
  weir_plan plans[] = {{.run_arena_bytes = 1ull << 60}, {.step_arena_bytes = 1ull << 60}};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(weir_session_reserve(&session, WEIR_RUN_FORWARD, &plans[i]),
                     WEIR_DOES_NOT_FIT);
    assert_non_null(strstr(weir_status_message(), "this machine has"));
    assert_int_equal(session.run_arena.capacity_bytes + session.step_arena.capacity_bytes, 0);
  }
  weir_session_close(&session);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_the_machine_lacks_is_not_reserved),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
