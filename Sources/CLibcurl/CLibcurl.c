#include "CLibcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

// The names and types of the documented interface, as far as they are used.
typedef struct {
    int message;
    clibcurl_easy *easy;
    union {
        void *other;
        int result;
    } data;
} message;

typedef struct {
    void *data;
    size_t length;
    unsigned int flags;
} blob;

static struct {
    int (*global_init)(long);
    clibcurl_easy *(*easy_init)(void);
    void (*easy_reset)(clibcurl_easy *);
    void (*easy_cleanup)(clibcurl_easy *);
    const char *(*easy_strerror)(int);
    int (*easy_setopt)(clibcurl_easy *, int, ...);
    int (*easy_pause)(clibcurl_easy *, int);
    int (*easy_getinfo)(clibcurl_easy *, int, ...);
    clibcurl_list *(*slist_append)(clibcurl_list *, const char *);
    void (*slist_free_all)(clibcurl_list *);
    clibcurl_multi *(*multi_init)(void);
    int (*multi_cleanup)(clibcurl_multi *);
    int (*multi_setopt)(clibcurl_multi *, int, ...);
    int (*multi_add_handle)(clibcurl_multi *, clibcurl_easy *);
    int (*multi_remove_handle)(clibcurl_multi *, clibcurl_easy *);
    int (*multi_perform)(clibcurl_multi *, int *);
    int (*multi_poll)(clibcurl_multi *, void *, unsigned int, int, int *);
    int (*multi_wakeup)(clibcurl_multi *);
    message *(*multi_info_read)(clibcurl_multi *, int *);
} curl;

static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Some processors copy several times slower to an address right behind the beginning of a page. That is where glibc puts
// large blocks, libcurl's buffers among them, until the first of such a size has been freed.
static void free_large_block(void) {
    volatile char *block = malloc(1 << 20);
    if (block) block[0] = 0;
    free((void *)block);
}

static void load(void) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    struct {
        const char *name;
        void **function;
    } table[] = {
        {"curl_global_init", (void **)&curl.global_init},
        {"curl_easy_init", (void **)&curl.easy_init},
        {"curl_easy_reset", (void **)&curl.easy_reset},
        {"curl_easy_cleanup", (void **)&curl.easy_cleanup},
        {"curl_easy_strerror", (void **)&curl.easy_strerror},
        {"curl_easy_setopt", (void **)&curl.easy_setopt},
        {"curl_easy_pause", (void **)&curl.easy_pause},
        {"curl_easy_getinfo", (void **)&curl.easy_getinfo},
        {"curl_slist_append", (void **)&curl.slist_append},
        {"curl_slist_free_all", (void **)&curl.slist_free_all},
        {"curl_multi_init", (void **)&curl.multi_init},
        {"curl_multi_cleanup", (void **)&curl.multi_cleanup},
        {"curl_multi_setopt", (void **)&curl.multi_setopt},
        {"curl_multi_add_handle", (void **)&curl.multi_add_handle},
        {"curl_multi_remove_handle", (void **)&curl.multi_remove_handle},
        {"curl_multi_perform", (void **)&curl.multi_perform},
        {"curl_multi_poll", (void **)&curl.multi_poll},
        {"curl_multi_wakeup", (void **)&curl.multi_wakeup},
        {"curl_multi_info_read", (void **)&curl.multi_info_read},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        *table[i].function = dlsym(library, table[i].name);
        if (!*table[i].function) return;
    }
    // CURL_GLOBAL_ALL; counted, so FoundationNetworking's own call does not matter.
    is_loaded = curl.global_init(3) == 0;
    free_large_block();
}

bool clibcurl_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

clibcurl_easy *clibcurl_easy_init(void) { return curl.easy_init(); }
void clibcurl_easy_reset(clibcurl_easy *easy) { curl.easy_reset(easy); }
void clibcurl_easy_cleanup(clibcurl_easy *easy) { curl.easy_cleanup(easy); }
const char *clibcurl_easy_strerror(int code) { return curl.easy_strerror(code); }

int clibcurl_set_long(clibcurl_easy *easy, int option, long value) { return curl.easy_setopt(easy, option, value); }
int clibcurl_set_int64(clibcurl_easy *easy, int option, int64_t value) {
    return curl.easy_setopt(easy, option, value);
}
int clibcurl_set_string(clibcurl_easy *easy, int option, const char *value) {
    return curl.easy_setopt(easy, option, value);
}
int clibcurl_set_blob(clibcurl_easy *easy, int option, const void *bytes, size_t length) {
    // CURL_BLOB_COPY
    blob value = {(void *)bytes, length, 1};
    return curl.easy_setopt(easy, option, &value);
}
int clibcurl_set_pointer(clibcurl_easy *easy, int option, void *value) {
    return curl.easy_setopt(easy, option, value);
}
int clibcurl_set_list(clibcurl_easy *easy, int option, clibcurl_list *value) {
    return curl.easy_setopt(easy, option, value);
}
int clibcurl_set_transfer_function(clibcurl_easy *easy, int option, clibcurl_transfer_function value) {
    return curl.easy_setopt(easy, option, value);
}
int clibcurl_set_seek_function(clibcurl_easy *easy, int option, clibcurl_seek_function value) {
    return curl.easy_setopt(easy, option, value);
}
int clibcurl_set_socket_function(clibcurl_easy *easy, int option, clibcurl_socket_function value) {
    return curl.easy_setopt(easy, option, value);
}
int clibcurl_set_close_socket_function(clibcurl_easy *easy, int option, clibcurl_close_socket_function value) {
    return curl.easy_setopt(easy, option, value);
}
int clibcurl_set_prerequest_function(clibcurl_easy *easy, int option, clibcurl_prerequest_function value) {
    return curl.easy_setopt(easy, option, value);
}

int clibcurl_easy_pause(clibcurl_easy *easy, int bits) { return curl.easy_pause(easy, bits); }
long clibcurl_get_long(clibcurl_easy *easy, int information) {
    long value = -1;
    return curl.easy_getinfo(easy, information, &value) == 0 ? value : -1;
}
const char *clibcurl_get_string(clibcurl_easy *easy, int information) {
    const char *value = NULL;
    return curl.easy_getinfo(easy, information, &value) == 0 ? value : NULL;
}
bool clibcurl_was_connection_reused(clibcurl_easy *easy) {
    // CURLINFO_NUM_CONNECTS
    return clibcurl_get_long(easy, 0x200000 + 26) == 0;
}

clibcurl_list *clibcurl_list_append(clibcurl_list *list, const char *text) { return curl.slist_append(list, text); }
void clibcurl_list_free(clibcurl_list *list) { curl.slist_free_all(list); }

clibcurl_multi *clibcurl_multi_init(void) { return curl.multi_init(); }
void clibcurl_multi_cleanup(clibcurl_multi *multi) { curl.multi_cleanup(multi); }
int clibcurl_multi_set_long(clibcurl_multi *multi, int option, long value) {
    return curl.multi_setopt(multi, option, value);
}
int clibcurl_multi_add(clibcurl_multi *multi, clibcurl_easy *easy) { return curl.multi_add_handle(multi, easy); }
int clibcurl_multi_remove(clibcurl_multi *multi, clibcurl_easy *easy) { return curl.multi_remove_handle(multi, easy); }
int clibcurl_multi_perform(clibcurl_multi *multi, int *running) { return curl.multi_perform(multi, running); }
int clibcurl_multi_poll(clibcurl_multi *multi, int timeout_ms) {
    return curl.multi_poll(multi, NULL, 0, timeout_ms, NULL);
}
int clibcurl_multi_wakeup(clibcurl_multi *multi) { return curl.multi_wakeup(multi); }

clibcurl_easy *clibcurl_multi_next_done(clibcurl_multi *multi, int *result) {
    int left;
    message *next;
    while ((next = curl.multi_info_read(multi, &left))) {
        // CURLMSG_DONE, the only one there is.
        if (next->message == 1) {
            *result = next->data.result;
            return next->easy;
        }
    }
    return NULL;
}
