"""The exceptions of the runtime: one class for each status of the C API."""


class TileloomError(Exception):
    """Anything that Tileloom refuses to do, or fails at."""


class ArgumentError(TileloomError):
    """An argument does not fit what the kernel was compiled for."""


class RecipeError(TileloomError):
    """A launch recipe is malformed, or disagrees with the code beside it."""


class LaunchError(TileloomError):
    """The launch does not fit the device: architecture, shared memory, threads, clusters."""


class DriverError(TileloomError):
    """The CUDA driver is missing, or refused a call."""


BY_STATUS = {1: ArgumentError, 2: RecipeError, 3: LaunchError, 4: DriverError}
