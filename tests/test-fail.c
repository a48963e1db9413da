/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of the last error: kept a thread, cut where it is too long, never NULL.
 */
#include "lib/fail.h"
#include "lib/forebay.h"
#include "tests/unit.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

static void text_is_never_null(void **state)
{
	(void)state;
	assert_non_null(fby_error());
}

static void code_is_forwarded_and_text_kept(void **state)
{
	(void)state;
	assert_int_equal(fby_fail(-ENOENT, "index '%s'", "a.idx"), -ENOENT);
	assert_string_equal(fby_error(), "index 'a.idx'");
}

static void errno_is_put_into_words(void **state)
{
	(void)state;
	assert_int_equal(fby_fail_errno(-EACCES, "open '%s'", "b"), -EACCES);
	assert_string_equal(fby_error(), "open 'b': Permission denied");
}

static void long_text_is_cut(void **state)
{
	char text[8192];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(fby_fail_errno(-EIO, "%s", text), -EIO);
	assert_true(strlen(fby_error()) > 200);
	assert_true(strlen(fby_error()) < sizeof(text));
	assert_non_null(strstr(fby_error(), ": Input/output error"));
}

static void *say_something_else(void *arg)
{
	(void)arg;
	fby_fail(-EINVAL, "another thread's");
	return NULL;
}

static void threads_have_texts_of_their_own(void **state)
{
	pthread_t thread;

	(void)state;
	fby_fail(-EINVAL, "mine");
	assert_int_equal(pthread_create(&thread, NULL, say_something_else, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(fby_error(), "mine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_never_null),
		cmocka_unit_test(code_is_forwarded_and_text_kept),
		cmocka_unit_test(errno_is_put_into_words),
		cmocka_unit_test(long_text_is_cut),
		cmocka_unit_test(threads_have_texts_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
