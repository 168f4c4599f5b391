#include "linalg/blas_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <vector>

// OpenBLAS's own allocator takes the first free one of its buffers, maps it on first use and never unmaps it. The
// serial build looks for it without a lock, so that two threads may be given the same one. The linker puts the
// functions named __wrap_ in its place (cmake/GaussmithDependencies.cmake): a thread keeps a buffer, and is given it
// under our lock.
// NOLINTBEGIN(readability-identifier-naming): the linker makes these names.
extern "C" {
void* __real_blas_memory_alloc(int place);
void* __wrap_blas_memory_alloc(int place);
void __wrap_blas_memory_free(void* buffer);
void openblas_set_num_threads(int);
}
// NOLINTEND(readability-identifier-naming)

namespace gaussmith {

namespace {

/// A buffer is 128 MB of address space, of which a call touches what it needs; the rest is room for the allocator
/// itself.
constexpr std::size_t room_for_buffer = (std::size_t{128} << 20) + (std::size_t{1} << 20);

/// A second thread is not worth the address space that the matrices need: with less than this left, threads stay fewer.
constexpr std::size_t spare_room = std::size_t{512} << 20;

bool can_map(std::size_t bytes) {
  void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, bytes);
  return true;
}

/// All buffers that OpenBLAS has mapped, and those of them that no thread has.
class BufferStore {
 public:
  /// Only the serial build has no threads of its own.
  BufferStore() { openblas_set_num_threads(1); }

  /// Maps buffers until there are `wanted`, as far as the machine allows and leaves room for what they work on.
  std::size_t grow(std::size_t wanted) {
    const std::lock_guard lock(mutex_);
    while (mapped_ < wanted && (mapped_ == 0 || can_map(room_for_buffer + spare_room)) && map_one()) {
    }
    return mapped_;
  }

  void* take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty() && !map_one()) throw std::bad_alloc();
    void* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  void give_back(void* buffer) {
    const std::lock_guard lock(mutex_);
    free_.push_back(buffer);
  }

 private:
  bool map_one() {
    free_.reserve(mapped_ + 1);
    if (!can_map(room_for_buffer)) return false;
    free_.push_back(__real_blas_memory_alloc(0));
    ++mapped_;
    return true;
  }

  std::mutex mutex_;
  std::vector<void*> free_;
  std::size_t mapped_ = 0;
};

/// Never destroyed: threads may end after static objects do.
BufferStore& store() {
  static auto* const the_store = new BufferStore;
  return *the_store;
}

/// The buffer that a thread keeps.
class ThreadBuffer {
 public:
  ThreadBuffer() : memory_(store().take()) {}
  ~ThreadBuffer() { store().give_back(memory_); }
  ThreadBuffer(const ThreadBuffer&) = delete;
  ThreadBuffer& operator=(const ThreadBuffer&) = delete;
  [[nodiscard]] void* memory() const { return memory_; }

 private:
  void* memory_;
};

const ThreadBuffer& thread_buffer() {
  static const thread_local ThreadBuffer buffer;
  return buffer;
}

/// Whether a call of BLAS on this thread is using the thread's buffer.
thread_local bool in_use = false;

}  // namespace

void prepare_blas() { static_cast<void>(thread_buffer()); }

int reserve_blas_buffers(int threads) {
  const auto wanted = static_cast<std::size_t>(threads);
  return static_cast<int>(std::min(store().grow(wanted), wanted));
}

}  // namespace gaussmith

void* __wrap_blas_memory_alloc(int) {
  // A routine that calls another while it holds its buffer.
  if (gaussmith::in_use) return gaussmith::store().take();
  gaussmith::in_use = true;
  return gaussmith::thread_buffer().memory();
}

void __wrap_blas_memory_free(void* buffer) {
  if (buffer == gaussmith::thread_buffer().memory())
    gaussmith::in_use = false;
  else
    gaussmith::store().give_back(buffer);
}
