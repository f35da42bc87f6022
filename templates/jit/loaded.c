#include "core/context.h"
#include "jit/jit.h"

/* Loaded modules. The plans of a context share them. Unused ones are kept, so that a second
 * plan with the same kernels loads nothing. */

/* Unloads a module. The CUDA context must be current. */
MBI_INTERNAL void mbi_loaded_unload(merbit_context *context, void *module) {
  if (mbi_device_lost(context) == 0) {
    (void)mbi_device_mark_lost(context, context->device.driver.module_unload(module));
  }
}

static void mbi_loaded_free(merbit_context *context, mbi_loaded *entry) {
  mbi_release(context, entry->key);
  mbi_release(context, entry);
}

/* Finds a loaded module and adds a user to it. Returns NULL if it is not loaded. */
MBI_INTERNAL mbi_loaded *mbi_loaded_take(merbit_context *context, const char *key,
                                         size_t key_size) {
  mbi_loaded **at, *found;
  mbi_mutex_lock(&context->lock);
  for (at = &context->loaded; *at != NULL; at = &(*at)->next) {
    if ((*at)->key_size == key_size && memcmp((*at)->key, key, key_size) == 0) {
      break;
    }
  }
  found = *at;
  if (found != NULL) {
    *at = found->next;
    found->next = context->loaded;
    context->loaded = found;
    found->users++;
  }
  mbi_mutex_unlock(&context->lock);
  return found;
}

/* Adds `module` to the list under `key`, with one user. The entry then owns the key. Returns
 * NULL and changes nothing if there is no memory. */
MBI_INTERNAL mbi_loaded *mbi_loaded_share(merbit_context *context, char *key, size_t key_size,
                                          void *module) {
  mbi_loaded *entry = (mbi_loaded *)mbi_allocate(context, sizeof *entry);
  if (entry != NULL) {
    entry->key = key;
    entry->key_size = key_size;
    entry->module = module;
    entry->users = 1;
    mbi_mutex_lock(&context->lock);
    entry->next = context->loaded;
    context->loaded = entry;
    mbi_mutex_unlock(&context->lock);
  }
  return entry;
}

/* Unloads unused modules but the `keep` most recently used ones. The CUDA context must be
 * current. */
MBI_INTERNAL void mbi_loaded_trim(merbit_context *context, int keep) {
  mbi_loaded *dropped = NULL, **at;
  mbi_mutex_lock(&context->lock);
  for (at = &context->loaded; *at != NULL;) {
    mbi_loaded *entry = *at;
    if (entry->users == 0 && keep-- <= 0) {
      *at = entry->next;
      entry->next = dropped;
      dropped = entry;
    } else {
      at = &entry->next;
    }
  }
  mbi_mutex_unlock(&context->lock);
  while (dropped != NULL) {
    mbi_loaded *next = dropped->next;
    mbi_loaded_unload(context, dropped->module);
    mbi_loaded_free(context, dropped);
    dropped = next;
  }
}

/* Removes one user of a module. If the CUcontext belongs to the caller, it may end before the
 * merbit context, so no unused module stays loaded there. */
MBI_INTERNAL void mbi_loaded_leave(merbit_context *context, mbi_loaded *entry) {
  mbi_mutex_lock(&context->lock);
  entry->users--;
  mbi_mutex_unlock(&context->lock);
  mbi_loaded_trim(context, context->device.primary ? MBI_LOADED_IDLE : 0);
}

/* Unloads all modules before the device is closed. */
MBI_INTERNAL void mbi_loaded_close(merbit_context *context) {
  if (context->loaded != NULL && mbi_device_enter_alive(context)) {
    mbi_loaded_trim(context, 0);
    mbi_device_leave(context);
  }
  while (context->loaded != NULL) { /* a lost device has no modules any more */
    mbi_loaded *next = context->loaded->next;
    mbi_loaded_free(context, context->loaded);
    context->loaded = next;
  }
}
