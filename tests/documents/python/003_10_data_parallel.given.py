import os

import torch
from torch import nn
