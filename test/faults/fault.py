"""What a row of the tables is, and names of statements that both tables mutate."""

RELEASE = r"mbarrier\.arrive\.shared"
LOAD = r"cp\.async\.bulk\.tensor.*mbarrier::complete_tx"
STORE = r"cp\.async\.bulk\.tensor.*bulk_group"


class Fault:
    def __init__(self, kernel, name, change, *kinds, checks=None):
        self.kernel, self.name, self.change, self.kinds, self.checks = kernel, name, change, kinds, checks

    @property
    def id(self):
        return f"{self.kernel}: {self.name}"
