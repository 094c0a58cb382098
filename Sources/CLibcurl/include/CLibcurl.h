// The part of libcurl's stable interface that is used, found at run time: FoundationNetworking has loaded the library
// already, so no development package and no link-time dependency is needed. Option and information numbers are those of
// the documented interface and never change.
//
// Unless said otherwise, functions do what the functions of libcurl of the same name do. None may be called before
// clibcurl_load() has returned true.

#ifndef CLIBCURL_H
#define CLIBCURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clibcurl_easy clibcurl_easy;
typedef struct clibcurl_multi clibcurl_multi;
typedef struct clibcurl_list clibcurl_list;

typedef size_t (*clibcurl_transfer_function)(char *buffer, size_t size, size_t count, void *context);
typedef int (*clibcurl_seek_function)(void *context, int64_t offset, int origin);
typedef int (*clibcurl_close_socket_function)(void *context, int socket);
typedef int (*clibcurl_socket_function)(void *context, int socket, int purpose);
typedef int (*clibcurl_prerequest_function)(void *context, char *remote, char *local, int remote_port, int local_port);

/// Loads the library and finds every function, once. False if either is not to be had. Thread-safe.
bool clibcurl_load(void);

clibcurl_easy *clibcurl_easy_init(void);
void clibcurl_easy_reset(clibcurl_easy *easy);
void clibcurl_easy_cleanup(clibcurl_easy *easy);
const char *clibcurl_easy_strerror(int code);

int clibcurl_set_long(clibcurl_easy *easy, int option, long value);
int clibcurl_set_int64(clibcurl_easy *easy, int option, int64_t value);
int clibcurl_set_string(clibcurl_easy *easy, int option, const char *value);
/// Hands over a copy of the bytes.
int clibcurl_set_blob(clibcurl_easy *easy, int option, const void *bytes, size_t length);
int clibcurl_set_pointer(clibcurl_easy *easy, int option, void *value);
int clibcurl_set_list(clibcurl_easy *easy, int option, clibcurl_list *value);
int clibcurl_set_transfer_function(clibcurl_easy *easy, int option, clibcurl_transfer_function value);
int clibcurl_set_seek_function(clibcurl_easy *easy, int option, clibcurl_seek_function value);
int clibcurl_set_socket_function(clibcurl_easy *easy, int option, clibcurl_socket_function value);
int clibcurl_set_close_socket_function(clibcurl_easy *easy, int option, clibcurl_close_socket_function value);
int clibcurl_set_prerequest_function(clibcurl_easy *easy, int option, clibcurl_prerequest_function value);

int clibcurl_easy_pause(clibcurl_easy *easy, int bits);
/// Whether the transfer began on a connection that was there already.
bool clibcurl_was_connection_reused(clibcurl_easy *easy);

/// A piece of information that is a number; -1 when there is none.
long clibcurl_get_long(clibcurl_easy *easy, int information);
/// A piece of information that is a text, which lives until the handle is used again; null when there is none.
const char *clibcurl_get_string(clibcurl_easy *easy, int information);

/// Adds a copy of the text; returns the new head of the list, or null when there is no memory.
clibcurl_list *clibcurl_list_append(clibcurl_list *list, const char *text);
void clibcurl_list_free(clibcurl_list *list);

clibcurl_multi *clibcurl_multi_init(void);
void clibcurl_multi_cleanup(clibcurl_multi *multi);
int clibcurl_multi_set_long(clibcurl_multi *multi, int option, long value);
int clibcurl_multi_add(clibcurl_multi *multi, clibcurl_easy *easy);
int clibcurl_multi_remove(clibcurl_multi *multi, clibcurl_easy *easy);
int clibcurl_multi_perform(clibcurl_multi *multi, int *running);
int clibcurl_multi_poll(clibcurl_multi *multi, int timeout_ms);
int clibcurl_multi_wakeup(clibcurl_multi *multi);

/// The next transfer that is done, with its result; null when there is none.
clibcurl_easy *clibcurl_multi_next_done(clibcurl_multi *multi, int *result);

#endif
