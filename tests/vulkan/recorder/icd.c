/* The recording driver of tests/oracle as Vulkan's loader loads it. The functions are those of the
 * test's process, which connects them before it opens a device. */
#include <vulkan/vk_icd.h>

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef PFN_vkVoidFunction(VKAPI_PTR *find_function)(VkInstance instance, const char *name);

static find_function find;

EXPORT void recorder_connect(find_function function);
void recorder_connect(find_function function) { find = function; }

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  if (*version > 5) *version = 5;
  return find ? VK_SUCCESS : VK_ERROR_INCOMPATIBLE_DRIVER;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance instance,
                                                                          const char *name) {
  return find(instance, name);
}

/* Only functions of a physical device. */
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance instance,
                                                                                const char *name) {
  return strstr(name, "PhysicalDevice") ? find(instance, name) : NULL;
}
