"""Many contended runs of each product, audited at its profile: is a real product ever accused?"""
