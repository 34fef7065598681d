"""What a row of the tables is."""


class Fault:
    def __init__(self, kernel, name, change, *kinds, checks=None):
        self.kernel, self.name, self.change, self.kinds, self.checks = kernel, name, change, kinds, checks

    @property
    def id(self):
        return f"{self.kernel}: {self.name}"
