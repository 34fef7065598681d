"""Small PTX kernels over the instruction families of Hopper, for bench/agreement.py."""
